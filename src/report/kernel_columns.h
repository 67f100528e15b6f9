// Columns that tell kernels of one name apart: `object`, the code object, and `gpu`. A table gets them only if it needs
// them.
#pragma once

#include "report/report.h"

namespace luthier::report {

/// As the column `object` names the code object.
std::string objectName(const KernelAccount &kernel);

/// The table with the columns that it needs, behind the one that names kernels: `object` if two code objects have a
/// kernel of the same name in it, `gpu` if its kernels ran on several. Cells name kernels by Cell::kernel.
Table withKernelColumns(Table table, const Account &account);

} // namespace luthier::report
