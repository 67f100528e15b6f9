// The files of the HTML report, as the build finds them (src/report/html/).

#include "report/html_page.h"

asm(R"(
  .section .rodata
  .globl luthierReportHtml, luthierReportCss, luthierReportScript
  .globl luthierReportHtmlEnd, luthierReportCssEnd, luthierReportScriptEnd
  .hidden luthierReportHtml, luthierReportCss, luthierReportScript
  .hidden luthierReportHtmlEnd, luthierReportCssEnd, luthierReportScriptEnd
luthierReportHtml:
  .incbin ")" LUTHIER_REPORT_HTML R"(/report.html"
luthierReportHtmlEnd:
luthierReportCss:
  .incbin ")" LUTHIER_REPORT_HTML R"(/report.css"
luthierReportCssEnd:
luthierReportScript:
  .incbin ")" LUTHIER_REPORT_HTML R"(/model.js"
  .incbin ")" LUTHIER_REPORT_HTML R"(/charts.js"
  .incbin ")" LUTHIER_REPORT_HTML R"(/graph.js"
  .incbin ")" LUTHIER_REPORT_HTML R"(/views.js"
luthierReportScriptEnd:
  .text
)");

extern "C" {
extern const char luthierReportHtml[], luthierReportHtmlEnd[], luthierReportCss[], luthierReportCssEnd[],
    luthierReportScript[], luthierReportScriptEnd[];
}

namespace luthier::report {

HtmlPage htmlPage() {
  const auto text = [](const char *begin, const char *end) {
    return std::string_view(begin, static_cast<size_t>(end - begin));
  };
  return {text(luthierReportHtml, luthierReportHtmlEnd), text(luthierReportCss, luthierReportCssEnd),
          text(luthierReportScript, luthierReportScriptEnd)};
}

} // namespace luthier::report
