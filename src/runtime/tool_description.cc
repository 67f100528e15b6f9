#include "runtime/tool_description.h"

#include "runtime/tool_host.h"

extern "C" [[gnu::visibility("default")]] void luthierToolOptions(LuthierToolOption *each, void *user) {
  for (const luthier::runtime::ToolOption &option : luthier::runtime::ToolHost::instance().tools().options())
    each(user, option.name.c_str(), option.type.toText().c_str(), option.byDefault.c_str(), option.help.c_str());
}
