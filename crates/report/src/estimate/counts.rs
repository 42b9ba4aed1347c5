//! The features that are counts of instructions, blocks and loops.

use super::features::Features;
use super::live_cells::LiveCells;
use super::loop_nests::LoopNests;
use super::nodes::{Nodes, Order};
use oriel_engine::entity::{Block, EntitySet};
use oriel_ori::{AddressSpace, ControlFlow, DataType, Divergence, Function, Operation};

impl Features {
    /// Adds what follows from unrolling nests of loops with constant rounds.
    pub(super) fn add_loop_nests(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        nodes: &Nodes,
        live: &LiveCells,
    ) {
        let nests = LoopNests::new(function, flow, nodes, live);
        self.live_with_loads = nests.live_with_loads as f32;
        self.nested_rounds = nests.rounds as f32;
        self.nested_nodes = nests.nodes as f32;
        self.nested_loads = nests.loads as f32;
        self.constant_loops = nests.constant_loops as f32;
    }

    pub(super) fn add_control_flow(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        divergence: &Divergence,
        nodes: &Nodes,
        returning: &EntitySet<Block>,
    ) {
        self.loops = flow.loops.len() as f32;
        for &block in function.blocks() {
            if !returning.contains(block) {
                continue;
            }
            self.blocks += 1.0;
            let of_block = nodes.of(block);
            self.nodes += of_block.len() as f32;
            self.largest_block = self.largest_block.max(of_block.len() as f32);
            let depth = flow.loops.depth_of(block);
            self.loop_depth = self.loop_depth.max(depth as f32);
            let is_innermost = |natural_loop| flow.loops.children(natural_loop).next().is_none();
            if flow.loops.innermost(block).is_some_and(is_innermost) {
                self.innermost_nodes += of_block.len() as f32;
            }
            self.divergent_blocks += f32::from(u8::from(divergence.is_divergent_control(block)));
            let (mut global, mut shared) = (0.0, 0.0);
            for node in of_block {
                self.matrix_operations += node.matrix_operations as f32;
                self.async_copies += f32::from(u8::from(node.is_copy));
                self.wide_nodes += f32::from(u8::from(
                    node.defined.len() >= 4 || node.is_store && node.used.len() >= 6,
                ));
                self.exchanges += f32::from(u8::from(node.is_exchange));
                self.temporaries = self.temporaries.max(node.temporaries as f32);
                self.widest_result = self.widest_result.max(node.defined.len() as f32);
                self.calls += f32::from(u8::from(node.is_call));
                if let Order::Load(memory) = node.order {
                    shared += f32::from(u8::from(memory.space == AddressSpace::Shared));
                }
                global += f32::from(u8::from(node.is_global_load));
            }
            if flow.loops.innermost(block).is_some_and(is_innermost) {
                self.innermost_loads += global + shared;
            }
            self.global_loads += global;
            self.global_loads_of_block = self.global_loads_of_block.max(global);
            self.shared_loads_of_block = self.shared_loads_of_block.max(shared);
        }
    }

    pub(super) fn add_instructions(&mut self, function: &Function, returning: &EntitySet<Block>) {
        use Operation as O;
        let blocks = function
            .blocks()
            .iter()
            .filter(|&&block| returning.contains(block));
        for instruction in blocks.flat_map(|&block| function.instructions(block)) {
            let data_type = function.data_type(instruction);
            if data_type == DataType::F64 {
                self.doubles += 1.0;
            }
            let space = function.modifiers(instruction).space;
            let counter = match function.operation(instruction) {
                O::Ld | O::St if space == AddressSpace::Local => &mut self.local_accesses,
                O::Ld if space == AddressSpace::EntryParam => &mut self.parameters,
                O::St => &mut self.stores,
                O::Atom => &mut self.atomics,
                O::Bar | O::BarRed => &mut self.barriers,
                O::Fdiv
                | O::Frcp
                | O::Fsqrt
                | O::Frsqrt
                | O::Fsin
                | O::Fcos
                | O::Flg2
                | O::Fex2
                | O::Ftanh => &mut self.special_functions,
                O::Idiv | O::Irem => &mut self.special_functions,
                O::Opaque | O::InlineAsm => &mut self.opaque,
                O::S2r => &mut self.thread_numbers,
                O::Cvt => &mut self.conversions,
                O::Imul | O::ImulWide | O::Imad | O::ImadWide | O::ImulHi => &mut self.integer_products,
                O::Isetp | O::Fsetp => &mut self.comparisons,
                O::Sel => &mut self.selections,
                _ => continue,
            };
            *counter += 1.0;
        }
    }
}
