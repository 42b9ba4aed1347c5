//! Addresses of named objects.

use super::memory::{FUNCTION_STRIDE, FUNCTION_WINDOW, buffer_address};
use super::module::{Variable, VariableSpace};
use oriel_arithmetic::spaces::window_of;
use oriel_ori::AddressSpace;
use std::collections::HashMap;

/// The address of a symbol, and its space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SymbolAddress {
    pub space: AddressSpace,
    pub address: u64,
}

/// Addresses of a module's variables and functions.
pub(super) struct Symbols {
    addresses: HashMap<String, SymbolAddress>,
    shared_bytes: u64,
}

impl Symbols {
    pub fn new(variables: &[Variable], functions: &HashMap<String, usize>) -> Self {
        let mut addresses = HashMap::new();
        let mut shared_bytes = 0u64;
        let mut buffers = 0;
        for variable in variables {
            let address = match variable.space {
                VariableSpace::Shared if variable.size == 0 => continue,
                VariableSpace::Shared => {
                    let start = shared_bytes.next_multiple_of(variable.alignment.max(1));
                    shared_bytes = start + variable.size;
                    SymbolAddress {
                        space: AddressSpace::Shared,
                        address: start,
                    }
                }
                VariableSpace::Global | VariableSpace::Const => {
                    buffers += 1;
                    SymbolAddress {
                        space: if variable.space == VariableSpace::Const {
                            AddressSpace::Const
                        } else {
                            AddressSpace::Global
                        },
                        address: buffer_address(buffers - 1),
                    }
                }
            };
            addresses.insert(variable.name.clone(), address);
        }
        // All arrays whose size the launch gives share one address, after the others.
        let open = variables
            .iter()
            .filter(|variable| variable.space == VariableSpace::Shared && variable.size == 0);
        let alignment = open.clone().map(|variable| variable.alignment).max();
        shared_bytes = shared_bytes.next_multiple_of(alignment.unwrap_or(1).max(1));
        for variable in open {
            let address = SymbolAddress {
                space: AddressSpace::Shared,
                address: shared_bytes,
            };
            addresses.insert(variable.name.clone(), address);
        }
        for (name, &number) in functions {
            let address = SymbolAddress {
                space: AddressSpace::Generic,
                address: FUNCTION_WINDOW + FUNCTION_STRIDE * number as u64,
            };
            addresses.insert(name.clone(), address);
        }
        Self {
            addresses,
            shared_bytes,
        }
    }

    /// Bytes of shared memory that variables take.
    pub fn shared_bytes(&self) -> u64 {
        self.shared_bytes
    }

    pub fn find(&self, name: &str) -> Option<SymbolAddress> {
        self.addresses.get(name).copied()
    }

    /// Writes addresses into the initial values.
    ///
    /// # Errors
    /// If a symbol is missing.
    pub fn resolve_references(&self, variables: &mut [Variable]) -> Result<(), String> {
        for variable in variables {
            for reference in &variable.references {
                let Some(symbol) = self.find(&reference.symbol) else {
                    return Err(format!(
                        "{} refers to {}, which does not exist",
                        variable.name, reference.symbol
                    ));
                };
                let window = if reference.is_generic {
                    window_of(symbol.space)
                } else {
                    0
                };
                let address =
                    (window + symbol.address).wrapping_add_signed(reference.addend) >> reference.shift;
                let bytes = reference.bytes.min(8);
                variable.initial[reference.offset..reference.offset + bytes]
                    .copy_from_slice(&address.to_le_bytes()[..bytes]);
            }
        }
        Ok(())
    }
}
