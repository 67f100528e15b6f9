// The compiled half of fmt, built into our own archive.
//
// Linking libfmt.so would put a shared library into the application's process that may clash with its own; fmt's
// header-only mode avoids that but costs more than two seconds in every file that includes it. So the headers are used
// in their ordinary mode everywhere and the implementation is compiled here, once, with hidden visibility. The
// instantiations are those that fmt 9 to 11 declare and leave to their library.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template FMT_API auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char *, const char *);
#if FMT_VERSION < 100000
template FMT_API void vformat_to(buffer<char> &, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);
#elif FMT_VERSION < 110000
template FMT_API void vformat_to(buffer<char> &, string_view, typename vformat_args<>::type, locale_ref);
#endif

} // namespace detail
FMT_END_NAMESPACE
