//! The functions between compiled code and this process.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::ContextRef;
use inkwell::module::{Linkage, Module};
use inkwell::targets::TargetData;
use inkwell::types::{BasicTypeEnum, StructType};
use inkwell::values::{AggregateValueEnum, BasicValueEnum, FunctionValue, PointerValue};
use inkwell::{AddressSpace, types::IntType};

use super::HostError;
use super::block::{ARGUMENTS, RESULTS, host_call};

/// Adds functions to a module.
pub(super) struct Wrappers<'a, 'context> {
    module: &'a Module<'context>,
    target: &'a TargetData,
    context: ContextRef<'context>,
    builder: Builder<'context>,
}

/// Unwraps a result of the builder: its only errors are bugs of this code.
fn built<T>(result: Result<T, BuilderError>) -> T {
    result.expect("operands of the right types, and a position")
}

impl<'a, 'context> Wrappers<'a, 'context> {
    pub(super) fn new(module: &'a Module<'context>, target: &'a TargetData) -> Self {
        let context = module.get_context();
        let builder = context.create_builder();
        Self {
            module,
            target,
            context,
            builder,
        }
    }

    fn word(&self) -> IntType<'context> {
        self.context.i64_type()
    }

    fn add(&self, like: FunctionValue<'context>, name: &str) -> FunctionValue<'context> {
        let function = self
            .module
            .add_function(name, like.get_type(), Some(Linkage::Internal));
        self.start(function);
        function
    }

    fn start(&self, function: FunctionValue<'context>) {
        let entry = self.context.append_basic_block(function, "entry");
        self.builder.position_at_end(entry);
    }

    fn fits_a_word(&self, ty: BasicTypeEnum<'context>) -> bool {
        !ty.is_array_type() && !ty.is_struct_type() && self.target.get_store_size(&ty) <= 8
    }

    /// Adds a function like an intrinsic that calls [`host_call`] with its number:
    ///
    /// ```text
    /// define internal { i32, i1 } @oriel.NAME(i32 %0, i1 %1) {
    ///   %frame = alloca { i64, i64, i64, i64, i64, i64 }   ; arguments, results
    ///   ; each argument is stored in a word of its own, zero around it
    ///   call void HOST_CALL(i32 NUMBER, ptr %frame)
    ///   ; each field of the result is loaded from a word of its own
    /// ```
    pub(super) fn intrinsic(
        &self,
        intrinsic: FunctionValue<'context>,
        number: u32,
    ) -> Result<FunctionValue<'context>, HostError> {
        let name = intrinsic.get_name().to_string_lossy().into_owned();
        let results: Vec<BasicTypeEnum> = match intrinsic.get_type().get_return_type() {
            None => Vec::new(),
            Some(BasicTypeEnum::StructType(fields)) => fields.get_field_types(),
            Some(result) => vec![result],
        };
        let types = intrinsic.get_param_iter().map(|parameter| parameter.get_type());
        let fits = types
            .chain(results.iter().copied())
            .all(|ty| self.fits_a_word(ty));
        if !fits || intrinsic.count_params() as usize > ARGUMENTS || results.len() > RESULTS {
            return Err(HostError::Unsupported(format!(
                "the type of `{name}`, {}",
                intrinsic.get_type()
            )));
        }
        let wrapper = self.add(intrinsic, &format!("oriel.{name}"));
        let frame_type = self
            .context
            .struct_type(&[self.word().into(); ARGUMENTS + RESULTS], false);
        let frame = built(self.builder.build_alloca(frame_type, "frame"));
        for (index, argument) in wrapper.get_param_iter().enumerate() {
            let slot = self.field(frame_type, frame, index);
            built(self.builder.build_store(slot, self.word().const_zero()));
            built(self.builder.build_store(slot, argument));
        }
        self.call_host(number, frame);
        let results: Vec<BasicValueEnum> = results
            .iter()
            .enumerate()
            .map(|(index, &ty)| {
                let slot = self.field(frame_type, frame, ARGUMENTS + index);
                built(self.builder.build_load(ty, slot, "result"))
            })
            .collect();
        self.give_back(wrapper, &results);
        Ok(wrapper)
    }

    fn field(
        &self,
        ty: StructType<'context>,
        pointer: PointerValue<'context>,
        index: usize,
    ) -> PointerValue<'context> {
        built(self.builder.build_struct_gep(ty, pointer, index as u32, "slot"))
    }

    fn call_host(&self, number: u32, frame: PointerValue<'context>) {
        let pointer = self.context.ptr_type(AddressSpace::default());
        let number_type = self.context.i32_type();
        let ty = self
            .context
            .void_type()
            .fn_type(&[number_type.into(), pointer.into()], false);
        let address = (host_call as *const ()).expose_provenance() as u64;
        let callee = self.word().const_int(address, false).const_to_pointer(pointer);
        let number = number_type.const_int(number.into(), false);
        built(
            self.builder
                .build_indirect_call(ty, callee, &[number.into(), frame.into()], ""),
        );
    }

    /// Adds a return from a function whose result has these fields.
    fn give_back(&self, function: FunctionValue<'context>, fields: &[BasicValueEnum<'context>]) {
        let result = match (function.get_type().get_return_type(), fields) {
            (Some(BasicTypeEnum::StructType(ty)), _) => {
                let empty = AggregateValueEnum::from(ty.get_poison());
                let whole = fields.iter().zip(0..).fold(empty, |whole, (&field, index)| {
                    built(self.builder.build_insert_value(whole, field, index, "whole"))
                });
                Some(BasicValueEnum::from(whole.into_struct_value()))
            }
            (_, fields) => fields.first().copied(),
        };
        let result = result.as_ref().map(|result| result as _);
        built(self.builder.build_return(result));
    }

    /// Adds `void NAME(ptr arguments)`, which calls a kernel with the values at the addresses in an
    /// array.
    pub(super) fn launcher(&self, kernel: FunctionValue<'context>, name: &str) {
        let pointer = self.context.ptr_type(AddressSpace::default());
        let ty = self.context.void_type().fn_type(&[pointer.into()], false);
        let launcher = self.module.add_function(name, ty, None);
        self.start(launcher);
        let addresses = launcher
            .get_first_param()
            .expect("one parameter")
            .into_pointer_value();
        let count = kernel.count_params() as usize;
        let addresses_type = self.context.struct_type(&vec![pointer.into(); count], false);
        let mut arguments = Vec::with_capacity(count);
        for (index, parameter) in kernel.get_param_iter().enumerate() {
            let slot = self.field(addresses_type, addresses, index);
            let address = built(self.builder.build_load(pointer, slot, "address"));
            let by_value = by_value_type(kernel, index as u32).is_some();
            let argument = if by_value {
                address
            } else {
                built(
                    self.builder
                        .build_load(parameter.get_type(), address.into_pointer_value(), ""),
                )
            };
            arguments.push(argument.into());
        }
        let call = built(self.builder.build_call(kernel, &arguments, ""));
        for index in 0..count as u32 {
            let location = AttributeLoc::Param(index);
            if let Some(attribute) = by_value_type(kernel, index) {
                call.add_attribute(location, attribute);
            }
        }
        built(self.builder.build_return(None));
    }

    /// Returns the sizes of a kernel's parameters in bytes.
    pub(super) fn parameter_bytes(&self, kernel: FunctionValue<'context>) -> Vec<usize> {
        let parameters = kernel.get_param_iter().enumerate();
        parameters
            .map(|(index, parameter)| {
                // A struct by value includes its padding.
                let bytes = match by_value_type(kernel, index as u32) {
                    Some(attribute) => self.target.get_abi_size(&attribute.get_type_value()),
                    None => self.target.get_store_size(&parameter.get_type()),
                };
                bytes as usize
            })
            .collect()
    }
}

/// Returns the attribute that makes a parameter a copy of the value to which the caller's pointer
/// points.
fn by_value_type(function: FunctionValue<'_>, index: u32) -> Option<Attribute> {
    function.get_enum_attribute(
        AttributeLoc::Param(index),
        Attribute::get_named_enum_kind_id("byval"),
    )
}
