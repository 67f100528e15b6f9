#!/bin/bash
# Looks at the HTML report in headless Chromium: each view is opened and must draw what it is for, without an error on the console and
# without a request to the network. Usage: report_browser.sh [REPORT.html [PICTURES]]; PICTURES: a folder for a picture of each view.
# Without a report, one is made of samples/reduction_tree. Skipped, loudly, where there is no Chromium (Debian: chromium).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [[ -z $browser ]]; then
  echo "SKIPPED: report_browser.sh needs Chromium (apt-get install chromium); the report's views were not looked at" >&2
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
report=${1:-}
pictures=${2:-}
if [[ -z $report ]]; then
  report=$work/report.html
  "$root/build/bin/luthier" run --gpu gfx90a --tool instr_count --instr_count.per=instruction --tool opcode_histogram -f html -o "$report" -- \
    "$root/build/samples/reduction_tree" >/dev/null
fi
report=$(realpath "$report")
options=(--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --user-data-dir="$work/profile" --enable-logging=stderr)

failed=0
# look VIEW WORD...: the view's page must have all of these in what it has drawn.
look() {
  local view=$1 name
  shift
  timeout 60 "$browser" "${options[@]}" --dump-dom "file://$report#$view" >"$work/dom" 2>"$work/log" || true
  # What is drawn, without the data that it is drawn from.
  sed '/<script id="data"/d' "$work/dom" >"$work/drawn"
  for word in "$@"; do
    if ! grep -qF -- "$word" "$work/drawn"; then
      echo "FAIL: view $view does not show '$word'"
      failed=1
    fi
  done
  if grep -E 'CONSOLE.*(Error|error|Refused)' "$work/log"; then
    echo "FAIL: view $view has errors on the console"
    failed=1
  fi
  if [[ -n $pictures ]]; then
    mkdir -p "$pictures"
    name=${view//\//_}
    timeout 60 "$browser" "${options[@]}" --window-size=1500,1050 --screenshot="$pictures/$name.png" "file://$report#$view" >/dev/null 2>&1
  fi
  echo "looked at $view"
}
first=$(grep -oP '"ids":\[\K[0-9]+' "$report" | head -1)
tool=$(grep -oP '"tools":\[\{"tool":"\K[^"]+' "$report" | head -1)
look overview 'kernels instrumented' 'class="fill hot"' "#kernel/$first"
look kernels 'GPU time' 'type="search"' 'aria-sort="descending"' "#kernel/$first"
look "kernel/$first" 'Registers and occupancy' 'aria-label="control flow"' 'block 0' 'class="heat' '<option'
look "kernel/$first/0/0" 'class="target"' 'class="here"'
look "tool/$tool" 'Largest' 'type="search"' 'class="number bar"'
look launches 'aria-label="launches in time"' 'workgroup'
look skipped 'Kernels that ran unmodified' 'Rejected sites'
[[ $failed == 0 ]] && echo "all views draw what they are for"
exit $failed
