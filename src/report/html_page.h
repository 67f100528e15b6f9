// What the HTML report is made of, but for its data.
#pragma once

#include <string_view>

namespace luthier::report {

struct HtmlPage {
  std::string_view html;   ///< with @STYLE@, @DATA@ and @SCRIPT@ once each, where these go
  std::string_view style;  ///< CSS
  std::string_view script; ///< JavaScript
};

HtmlPage htmlPage();

} // namespace luthier::report
