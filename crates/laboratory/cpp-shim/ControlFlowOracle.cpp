//===- ControlFlowOracle.cpp - LLVM's control flow as the judge of Ori's --===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares dominators, post-dominators, loops and the reverse post-order of
/// Ori with LLVM's.
///
//===----------------------------------------------------------------------===//

#include "ControlFlowOracle.h"
#include "Export.h"
#include "Support.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachinePostDominators.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;
using namespace oriel;

namespace {

/// LLVM's analyses of a function as flat arrays, by block number in layout
/// order.
class FlatControlFlow {
public:
  FlatControlFlow(MachineFunction &MF, const SnapshotExporter &Exporter) {
    for (const MachineBasicBlock *MBB : Exporter.blocks())
      Numbers[MBB] = Numbers.size();
    MachineDominatorTree Dominators(MF);
    MachinePostDominatorTree PostDominators(MF);
    MachineLoopInfo Loops(Dominators);
    for (const MachineBasicBlock *MBB : Exporter.blocks())
      Blocks.push_back({immediate(Dominators, MBB),
                        immediate(PostDominators, MBB),
                        header(Loops.getLoopFor(MBB)), parent(Loops, MBB),
                        Loops.getLoopDepth(MBB)});
    for (const MachineBasicBlock *MBB :
         ReversePostOrderTraversal<MachineFunction *>(&MF))
      Order.push_back(Numbers.lookup(MBB));
  }

  OrielControlFlow arrays() const {
    return {Blocks.data(), Order.data(), uint32_t(Blocks.size()),
            uint32_t(Order.size())};
  }

private:
  template <typename Tree>
  uint32_t immediate(const Tree &Dominators, const MachineBasicBlock *MBB) {
    const auto *Node = Dominators.getNode(MBB);
    const auto *Up = Node ? Node->getIDom() : nullptr;
    // The root of the post-dominator tree has no block.
    return Up && Up->getBlock() ? Numbers.lookup(Up->getBlock()) : ORIEL_NONE;
  }

  uint32_t header(const MachineLoop *Loop) {
    return Loop ? Numbers.lookup(Loop->getHeader()) : ORIEL_NONE;
  }

  uint32_t parent(const MachineLoopInfo &Loops, const MachineBasicBlock *MBB) {
    const MachineLoop *Loop = Loops.getLoopFor(MBB);
    return header(Loop ? Loop->getParentLoop() : nullptr);
  }

  DenseMap<const MachineBasicBlock *, uint32_t> Numbers;
  std::vector<OrielBlockFlow> Blocks;
  std::vector<uint32_t> Order;
};

} // namespace

void oriel::checkControlFlow(MachineFunction &MF, OrielStage Stage) {
  SnapshotExporter Exporter;
  if (!Exporter.run(MF, Stage, ExportScope::Whole))
    return;
  FlatControlFlow Flat(MF, Exporter);
  OrielControlFlow Arrays = Flat.arrays();
  std::string Difference;
  if (oriel_check_control_flow(&Exporter.snapshot(), &Arrays,
                               sinkInto(Difference)))
    return;
  report_fatal_error(Twine("oriel: control flow of function '") +
                         MF.getName() + "' at stage " + stageName(Stage) +
                         " differs from LLVM's:\n" + Difference,
                     /*gen_crash_diag=*/false);
}
