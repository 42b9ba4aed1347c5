//===- Options.cpp - Oriel's options on the host's command line -----------===//
//
// Part of Oriel, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file The library has the table of options and checks their values; here
/// each becomes an option of LLVM's command line.
///
//===----------------------------------------------------------------------===//

#include "OrielPasses.h"
#include "Support.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;
using namespace oriel;

namespace {

/// Passes a value to the library.
class ValueParser : public cl::parser<std::string> {
public:
  using cl::parser<std::string>::parser;

  bool parse(cl::Option &O, StringRef Name, StringRef Argument,
             std::string &Value) {
    std::string Error;
    if (!oriel_option_set(toText(Name), toText(Argument), sinkInto(Error)))
      return O.error(Error, Name);
    Value = Argument.str();
    return false;
  }
};

/// Does the same for an option without a value.
class SwitchParser : public ValueParser {
public:
  using ValueParser::ValueParser;

  StringRef getValueName() const override { return ""; }
};

/// An option whose values the library keeps.
template <typename Parser>
class LibraryOption : public cl::list<std::string, bool, Parser> {
public:
  using cl::list<std::string, bool, Parser>::list;

private:
  /// Called when the host forgets its command line.
  void setDefault() override {
    cl::list<std::string, bool, Parser>::clear();
    oriel_option_reset(toText(this->ArgStr));
  }
};

/// Registers the table's options while the library is loaded.
class LibraryOptions {
public:
  LibraryOptions() {
    if (isSecondCopy())
      return;
    static cl::OptionCategory Category(
        "Oriel options", "Live ranges, optimiser and report for NVPTX");
    for (size_t I = 0, E = oriel_option_count(); I != E; ++I) {
      OrielOptionInfo Info = oriel_option_info(I);
      if (Info.value.length == 0) {
        add<SwitchParser>(Info, Category, cl::ValueDisallowed);
        continue;
      }
      add<ValueParser>(Info, Category, cl::ValueRequired);
      Options.back()->setValueStr(toStringRef(Info.value));
    }
  }

private:
  template <typename Parser>
  void add(const OrielOptionInfo &Info, cl::OptionCategory &Category,
           cl::ValueExpected Value) {
    Options.push_back(std::make_unique<LibraryOption<Parser>>(
        toStringRef(Info.name), cl::desc(toStringRef(Info.help)),
        cl::cat(Category), Value));
  }

  std::vector<std::unique_ptr<cl::Option>> Options;
};

} // namespace

bool oriel::isSecondCopy() {
  // Asked before this copy registers its own.
  static const bool HasOther = cl::getRegisteredOptions().contains("oriel");
  return HasOther;
}

static LibraryOptions Registered;
