//! The features that are counts of instructions, blocks and loops.

use super::features::Features;
use super::live_cells::LiveCells;
use super::loop_nests::LoopNests;
use super::nodes::{Nodes, Order};
use oriel_engine::entity::{Block, EntitySet};
use oriel_ori::{AddressSpace, ControlFlow, Function};

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
        nodes: &Nodes,
        returning: &EntitySet<Block>,
    ) {
        for &block in function.blocks() {
            if !returning.contains(block) {
                continue;
            }
            let of_block = nodes.of(block);
            self.nodes += of_block.len() as f32;
            let depth = flow.loops.depth_of(block);
            self.loop_depth = self.loop_depth.max(depth as f32);
            let is_innermost = |natural_loop| flow.loops.children(natural_loop).next().is_none();
            let (mut global, mut shared) = (0.0, 0.0);
            for node in of_block {
                self.matrix_operations += node.matrix_operations as f32;
                self.async_copies += f32::from(u8::from(node.is_copy));
                self.temporaries = self.temporaries.max(node.temporaries as f32);
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
}
