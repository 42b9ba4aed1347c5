"""Opens the page of a report in Chromium and compares what stands in it with the report's JSON lines.

    check_page.py CHROMIUM PAGE REPORT.json    every function at its peak, elsewhere, and what clicks and keys do
    check_page.py CHROMIUM PAGE FRAGMENT       prints the attributes of the opened page's root

Fails if a script of the page fails, or if something is not as it should be.
"""

import html.parser
import json
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

# Chromium shall neither ask the network nor wait for a screen.
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]
BROWSER_SECONDS = 120

# What a user does, at a page that is open at some function: click, press keys, sort.
DRIVER = """
<script>
addEventListener("load", () => {
  const root = document.documentElement.dataset;
  const found = {};
  const rows = (id) => [...document.querySelectorAll(`#${id} [role=option]`)];
  const selected = (id) => rows(id).filter((row) => row.getAttribute("aria-selected") === "true");
  const press = (id, key) => document.getElementById(id).dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
  rows("listing")[1].click();
  found.clicked = [rows("listing")[1].dataset.at, root.at, selected("listing")[0].dataset.at];
  press("listing", "ArrowDown");
  found.next = [rows("listing")[2].dataset.at, root.at];
  press("curve", "p");
  found.peak = [root.peak, root.units];
  rows("ranges")[0].click();
  found.range = [rows("ranges")[0].dataset.register, new URLSearchParams(location.hash.slice(1)).get("register")];
  found.registerMarks = document.querySelectorAll("#listing .register.chosen").length;
  const box = document.getElementById("curve").getBoundingClientRect();
  const gutter = document.getElementById("ranges-gutter").getBoundingClientRect().width;
  document.getElementById("curve").dispatchEvent(new PointerEvent("pointerdown", {clientX: box.left + gutter + 1, clientY: box.top + 50}));
  // The left end of the curve is the beginning of the code, in long functions with several instructions to a pixel.
  found.curve = [selected("listing")[0].dataset.at, root.at];
  found.isAtStart = document.getElementById("listing").scrollTop === 0;
  press("curve", "p");
  [...document.querySelectorAll("#chain button")].at(-1)?.click();
  const line = document.querySelector("#source [role=option].used");
  if (line) {
    line.click();
    found.line = [line.dataset.line, selected("source").map((row) => row.dataset.line).join()];
  }
  press("curve", "+");
  found.zoom = new URLSearchParams(location.hash.slice(1)).has("to");
  press("curve", "0");
  document.querySelector("#file [data-value=pred]").click();
  found.file = [new URLSearchParams(location.hash.slice(1)).get("file"), document.querySelector("#file [aria-checked=true]").dataset.value];
  const heads = [...document.querySelectorAll("#functions th button")];
  const peak = heads.findIndex((head) => head.textContent === "Peak r32");
  heads[peak]?.click();
  found.sorted = [...document.querySelectorAll("#functions tbody tr")].map((row) => Number(row.children[peak].textContent));
  const other = document.querySelector("#functions tbody tr[aria-selected=false]");
  other?.click();
  found.other = [other?.children[0].textContent, other && document.getElementById("title").textContent];
  root.driven = JSON.stringify(found);
});
</script>
"""


# Goes to every address in turn and notes what is there.
TOUR = """
<script>
addEventListener("load", async () => {
  const seen = [];
  const attributes = (query, name) => [...document.querySelectorAll(query)].map((found) => found.getAttribute(name));
  for (const address of ADDRESSES) {
    const moved = new Promise((done) => addEventListener("hashchange", done, {once: true}));
    location.hash = address;
    await moved;
    const fields = [...document.querySelectorAll("[data-field]")].map((field) => [field.dataset.field, field.textContent]);
    const extras = [...document.querySelectorAll("[data-extra]")].map((extra) => [extra.dataset.extra, extra.textContent]);
    seen.push({root: {...document.documentElement.dataset}, fields: Object.fromEntries(fields), extras: Object.fromEntries(extras),
      advised: attributes("#advice tr[data-register]", "data-register"),
      selected: attributes("#listing [aria-selected=true]", "data-at"),
      ranges: attributes("#ranges [role=option]", "data-register")});
  }
  document.documentElement.dataset.seen = JSON.stringify(seen);
});
</script>
"""


class Root(html.parser.HTMLParser):
    """The attributes of the root of a page."""

    def __init__(self, text):
        super().__init__()
        self.attributes = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.attributes = self.attributes or dict(attributes)


def browse(chromium, page, fragment, script=""):
    """The attributes of a page's root, as Chromium shows it at a fragment with a script added to it."""
    with tempfile.TemporaryDirectory() as folder:
        shown = Path(page).resolve()
        if script:
            text = shown.read_text() + script
            shown = Path(folder) / "driven.html"
            shown.write_text(text)
        command = [chromium, *FLAGS, f"--user-data-dir={folder}/profile", "--window-size=1600,1000",
                   "--virtual-time-budget=5000", "--dump-dom", shown.as_uri() + "#" + fragment]
        printed = subprocess.run(command, capture_output=True, check=True, timeout=BROWSER_SECONDS).stdout
    root = Root(printed.decode()).attributes
    check("the page's problem", root.get("data-problem"), "")
    check("ready", root.get("data-ready"), "1")
    return root


def check(what, found, expected):
    """Stops if two things differ."""
    if found != expected:
        sys.exit(f"{what}: {found!r}, expected {expected!r}")


def address(line, **more):
    return urllib.parse.urlencode({"function": line["function"], "sm": line["sm"], **more})


def check_peak(seen, line, peak):
    """What the page shows of a function at the peak of a register file."""
    name = f"{line['function']} at the peak of {peak['file']}"
    check(f"{name}: peak", seen["root"]["peak"], str(line["peak_pressure_r32"]))
    check(f"{name}: predicates", seen["root"]["peakPred"], str(line["peak_pressure_pred"]))
    for field, text in seen["fields"].items():
        if field == "registers_estimate_reasons":
            check(f"{name}: {field}", text, f"+{line[field][0]['registers']}")
            causes = ", ".join(f"{reason['cause']} +{reason['registers']}" for reason in line[field])
            check(f"{name}: causes", seen["extras"][field], causes)
        elif field == "registers_estimate" and line.get("registers_estimate_unlike"):
            check(f"{name}: {field}", text, f"not known ({line[field]}?)")
        else:
            check(f"{name}: {field}", text.split()[0], str(line[field]))
    assert {"peak_pressure_r32", "instructions_out", "registers_estimate"} <= seen["fields"].keys(), seen
    if not peak["place"]:
        return
    values = [str(value["register"]) for value in peak["values"]]
    check(f"{name}: place", seen["root"]["at"], str(peak["place"]["instruction"]))
    check(f"{name}: selected", seen["selected"], [str(peak["place"]["instruction"])])
    check(f"{name}: live", seen["root"]["live"], str(len(values)))
    check(f"{name}: values", seen["advised"], values[:40])
    assert set(seen["ranges"]) <= set(values) and (seen["ranges"] or not values), seen


def check_report(chromium, page, report):
    """Every function at its peaks, other addresses, and what a user does."""
    lines = [json.loads(line) for line in Path(report).read_text().splitlines()]
    places = [(line, peak) for line in lines for peak in line["peaks"]]
    addresses = json.dumps([address(line, file=peak["file"]) for line, peak in places])
    seen = json.loads(browse(chromium, page, "", TOUR.replace("ADDRESSES", addresses))["data-seen"])
    for found, (line, peak) in zip(seen, places, strict=True):
        check_peak(found, line, peak)
    # An address wins over the peak; one that names nothing opens the first function.
    longest = max(lines, key=lambda line: line["instructions_out"])
    far = browse(chromium, page, address(longest, at=1000 * longest["instructions_out"]))
    near = browse(chromium, page, address(longest, at=0))
    assert int(near["data-at"]) < int(far["data-at"]), (near, far)
    check("functions", near["data-functions"], str(len(lines)))
    unknown = browse(chromium, page, "function=no%20such&at=x&file=y")
    check("unknown", unknown["data-peak"], str(lines[0]["peak_pressure_r32"]))
    found = json.loads(browse(chromium, page, address(longest), DRIVER)["data-driven"])
    for what in ("clicked", "next", "peak", "range", "curve", "line", "file", "other"):
        if what in found:
            check(what, len(set(found[what])), 1)
    assert found["registerMarks"] > 0 and found["isAtStart"] and found["zoom"], found
    check("sorted", found["sorted"], sorted(found["sorted"], reverse=True))
    print(f"{len(lines)} functions are shown as reported; lines of source: {'line' in found}")


def main():
    chromium, page, what = sys.argv[1:]
    if what.endswith(".json"):
        return check_report(chromium, page, what)
    for name, value in browse(chromium, page, what).items():
        print(f"{name}={value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
