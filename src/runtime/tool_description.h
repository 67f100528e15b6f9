// What a tool says about itself, for `luthier tools`, without an application or a GPU.
//
// The command loads libluthier.so, then the tool, and makes the tool as an application would: luthierCreateTool runs
// the constructor, which declares the options. What was declared is read through luthierToolOptions. The one-line
// description is the symbol luthierToolDescription of the tool, which luthier_add_tool(... DESCRIPTION "...") makes.
#pragma once

extern "C" {

/// `type` is as ValueType::toText writes it.
using LuthierToolOption = void(void *user, const char *name, const char *type, const char *byDefault, const char *help);

/// Calls `each` for all options declared by tools made so far in this process, in their order.
void luthierToolOptions(LuthierToolOption *each, void *user);
}
