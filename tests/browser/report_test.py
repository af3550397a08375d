# SPDX-License-Identifier: Apache-2.0
"""The page of `collagec --report` in a headless Chromium: report_test.py COLLAGEC SOURCES. Exit 77, a skipped test, without a browser
or where collagec cannot make pages.

It opens pages of a small model and of one with 5,000 nodes; reads, clicks, searches and types as a user does; and compares what the page
shows with what `--json` printed. COLLAGE_BROWSER_SLOWDOWN=3 gives a slow machine three times the time.
"""
import json
import os
import subprocess
import sys
import tempfile

import chromium

collagec, sources = sys.argv[1:3]
slowdown = float(os.environ.get("COLLAGE_BROWSER_SLOWDOWN", "1"))
environment = dict(os.environ, COLLAGE_COSTS="estimate", COLLAGE_RIVALS="ignore")


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def check(good, what):
    if not good:
        sys.exit(f"the page is wrong: {what}")


def compile_model(folder, model, rules, *options):
    """The page and, where that is asked for, the JSON."""
    page = os.path.join(folder, "page.html")
    command, others = [collagec, model], options
    if options and options[0] in ("bench", "compare", "diff"):
        files = 2 if options[0] == "diff" else 0
        command, others = [collagec, options[0], model, *options[1:1 + files]], options[1 + files:]
    command += ["-r", rules, *others, "--report", page, "--cache="]
    if command[1] not in ("compare", "diff"):
        command += ["-o", os.path.join(folder, "out.placed.ir")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if "built without d3 and dagre" in done.stderr:
        skip(done.stderr.splitlines()[0])
    check(done.returncode == 0, f"{' '.join(command)}: {done.stderr}")
    return page, json.loads(done.stdout) if "--json" in options else None


def human(seconds):
    """`12.84 ms`, as the programs write times."""
    if seconds == 0:
        return "0 s"
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps")):
        if seconds >= scale * 0.99995 or unit == "ps":
            return f"{float(f'{seconds / scale:.4g}'):g} {unit}"
    return ""


def open_page(browser, path):
    page = browser.open(path)
    page.wait("document.documentElement.dataset.drawn == 'all'", 60 * slowdown)
    return page


def check_numbers(page, document):
    """Texts of the page are those of the JSON."""
    placement = document["placement"]
    check(page.run("report.data.summary") == document, "its document is not that of --json")
    head = page.run("document.getElementById('headline').textContent")
    check(human(placement["objective"]["value"]) in head, f"headline: {head}")
    check_where(page, placement)
    rows = page.run("[...document.querySelectorAll('#summary tbody tr')].map(r => [...r.children].map(c => c.textContent))")
    check(len(rows) == len(document["backends"]), f"rows of backends: {rows}")
    for row, backend in zip(rows, document["backends"]):
        check(row[0].startswith(backend["backend"]) and row[1] == str(backend["ops"]), f"backend: {row}")
        check(row[4] == (human(backend["predicted_s"]) if backend["partitions"] else "-"), f"cost of a backend: {row}")
    rows = page.run("[...document.querySelectorAll('#costs > .scroll tbody tr')].map(r => [...r.children].map(c => c.textContent))")
    wanted = sorted(placement["conversions"], key=lambda one: -one["cost_s"])[:200]
    check([row[4] for row in rows] == [human(one["cost_s"]) for one in wanted], f"conversions: {rows}")
    for partition in placement["partitions"][:20]:
        name = json.dumps(partition["nodes"][0])
        page.run(f"report.graph.reveal(report.nodes.findIndex(node => node.name === {name}))")
        text = page.run("document.getElementById('details').textContent")
        check(f"%{partition['nodes'][0]}" in text and human(partition["cost_s"]) in text, f"details of {partition['id']}: {text}")
        for backend in page.run("report.data.choices.backends"):
            check(backend in text, f"{backend} is missing in {text}")


def texts_of(page, selector):
    """Texts of the cells of a table's body, by row."""
    return page.run(f"[...document.querySelectorAll({json.dumps(selector)})].map(row => [...row.children].map(cell => cell.textContent))")


def seconds_of(text):
    """Seconds of `about 12.84 ms`."""
    number, unit = text.replace("about ", "").split()[:2]
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}[unit]


def check_where(page, placement):
    """The first section accounts for the whole predicted time, and ends on the first screen."""
    predicted = placement["cost"]["predicted_s"]
    bar = page.run("document.querySelector('#where .bar-row strong').textContent")
    check(abs(seconds_of(bar) - predicted) <= 2e-3 * predicted, f"the bar is {bar} of {predicted}")
    operators = texts_of(page, "#where [aria-label='By operator'] tbody tr")
    column = 3
    total = sum(seconds_of(row[column]) for row in operators)
    check(len(operators) <= 11 and abs(total - predicted) <= 0.01 * predicted, f"operators add up to {total} of {predicted}: {operators}")
    check(len(texts_of(page, "#where [aria-label='The slowest ten'] tbody tr")) in range(1, 11), "no slowest ten")
    check(page.run("document.getElementById('where').offsetTop < document.getElementById('graph').offsetTop"), "the graph comes first")
    inside = page.run("report.placements[0].partitions.map(one => [one.cost_s, one.node_s.reduce((a, b) => a + b, 0)])")
    check(all(abs(cost - nodes) <= 1e-9 + 1e-6 * cost for cost, nodes in inside), f"nodes do not add up to their partitions: {inside}")


def is_in_view(page, item):
    """Whether a box of the graph lies in the window and in the canvas, and the details with it."""
    return page.run("(() => { const at = id => document.getElementById(id).getBoundingClientRect();"
                    f" const box = at('box{item}'), canvas = at('canvas');"
                    " return box.top >= canvas.top - 1 && box.bottom <= canvas.bottom + 1 && box.left >= canvas.left - 1"
                    " && box.right <= canvas.right + 1 && canvas.top >= 0 && canvas.bottom <= innerHeight + 1; })()")


def check_search(page):
    """`op:`, `rule:` and `backend:`, and what the list says of each node."""
    def found(text):
        page.run(f"(() => {{ const find = document.getElementById('find'); find.focus(); find.value = {json.dumps(text)};"
                 " find.dispatchEvent(new Event('input')); })()")
        return page.run("[...document.querySelectorAll('#found [role=option]')].map(row => row.textContent)")

    op = page.run("report.nodes[0].op")
    backend = page.run("report.placements[0].partitions[report.placements[0].ofNode[0]].backend")
    rows = found(f"op:{op}")
    check(rows and all(f" {op}" in row for row in rows), f"op:{op}: {rows}")
    check(rows == found(f"op:{op[:2].lower()}*{op[-1].lower()}"), "op: knows no *")
    rows = found(f"backend:{backend}")
    check(rows and all(backend in row and row.rstrip().endswith("s") for row in rows), f"backend:{backend}: {rows}")
    check(not found("op:NoSuchOperator"), "op: finds anything")
    rule = page.run("(report.placements[0].partitions.find(one => one.rules.length) || {rules: [{name: ''}]}).rules[0].name")
    if rule:
        check(found(f"rule:{rule}"), f"rule:{rule} finds nothing")
    page.key("Escape")


def check_use(page):
    """Mouse, search and keys."""
    check_search(page)
    page.run("document.getElementById('find').value = ''")
    page.run("report.graph.reveal(0)")
    page.run("report.graph.select(report.graph.root.children[0])")
    box = page.run("report.graph.itemOf(0).id")
    page.click(f"#box{box} > rect.body")
    check(page.run("report.graph.selected.id") == box, "a click selects nothing")
    check(page.run("document.getElementById('details').textContent.includes('Runs on')"), "a click shows nothing")
    target = page.run("report.nodes[report.nodes.length - 1].name")
    page.run("document.activeElement.blur()")
    page.key("/")
    check(page.run("document.activeElement.id") == "find", "`/` does not lead to the search")
    page.type(target)
    check(page.run("document.querySelector('#found li').textContent").startswith(f"%{target}"), "the search does not find")
    page.key("Enter")
    check(page.run("document.querySelector('#details h3').textContent").startswith(f"%{target}"), "the search does not lead to the node")
    check(page.run("document.activeElement.getAttribute('role')") == "treeitem", "the graph has not the focus")
    check(is_in_view(page, page.run("report.graph.selected.id")), "what was searched is out of view")
    order = page.run("[...document.querySelectorAll('#details h3')].map(title => title.textContent).slice(1, 4)")
    check(order == ["Why here", "On each backend", "Time"], f"order of the details: {order}")
    before = page.run("report.graph.active.id")
    page.key("ArrowUp")
    check(page.run("report.graph.active.id") != before, "an arrow moves nothing")
    check(page.run("document.activeElement.getAttribute('aria-label').length") > 0, "a box without a label")
    page.run("report.graph.openAll(false)")
    page.run("report.graph.focus(report.graph.root.children.find(child => child.children.length > 0))")
    page.key("Enter")
    check(page.run("document.activeElement.getAttribute('aria-expanded')") == "true", "Enter does not open")
    page.key("Enter")
    check(page.run("document.activeElement.getAttribute('aria-expanded')") == "false", "Enter does not close")
    item = page.run("(() => { const item = report.graph.root.children.find(child => child.children.length > 0);"
                    " report.graph.toggle(item); return item.id; })()")
    right = page.run(f"['box{item}', 'canvas'].map(id => document.getElementById(id).getBoundingClientRect().right)")
    check(right[0] <= right[1] + 1, f"what was opened goes out of the view on the right: {right}")
    light = page.run("getComputedStyle(document.body).backgroundColor")
    label = page.run("document.getElementById('theme').textContent")
    page.click("#theme")
    check(page.run("getComputedStyle(document.body).backgroundColor") != light, "there is no dark")
    check({label, page.run("document.getElementById('theme').textContent")} == {"Dark", "Light"}, "the button says what is")
    check(len(page.call("Page.printToPDF", printBackground=True)["data"]) > 10000, "nothing is printed")


def check_kernels(page):
    """After `bench` every node is in a kernel that was timed, which the first section and the details show."""
    page.run("const times = report.times(report.placements[0])")
    untimed = page.run("report.nodes.map(node => node.name).filter((name, index) => times.predicted.seconds[index] > 0"
                       " && !times.byNode[index].some(kernel => kernel.measured > 0))")
    check(untimed == [], f"nodes without a time: {untimed}")
    heads = page.run("[...document.querySelectorAll('#where th')].map(one => one.textContent)")
    check(heads.count("Measured") == 2, f"what was measured is not shown: {heads}")
    check(page.run("document.querySelector('.verdict') !== null"), "nothing says which time to believe")
    page.run("report.graph.reveal(0)")
    check("Measured" in page.run("document.getElementById('details').textContent"), "details without what was measured")


def details_of(page, name):
    return page.run(f"(report.graph.reveal(report.nodes.findIndex(node => node.name === {json.dumps(name)})),"
                    " document.getElementById('details').textContent)")


def check_claims(browser, folder, sources, acc):
    """The page claims what was proven for the whole model, and nothing else."""
    model = os.path.join(sources, "tests/filetests/driver/report.ir")
    plan = os.path.join(folder, "host.placement")

    def opened(model, *options):
        page = open_page(browser, compile_model(folder, model, acc, *options)[0])
        check(page.errors() == [], f"errors with {options}: {page.errors()}")
        return page, page.run("document.getElementById('headline').textContent")

    page, head = opened(model, "--strategy=single:host", "--save-placement", plan)
    check("proven" not in head and "above the best" not in head, f"headline of a strategy: {head}")
    page, head = opened(model)
    check("of it on acc, a model of a chip" in head, f"headline of a model of a chip: {head}")
    check(page.run("document.querySelectorAll('#canvas .hatch').length") > 0, "boxes of a model of a chip are not hatched")
    check("match c = Conv(x, w: const" in details_of(page, "d"), "the rule is shown without its match")
    check("proven to be the best" in head and "Proven" in details_of(page, "d"), f"headline: {head}")
    for is_bound in (0, 1):  # as though the host had %d for 1 ns, or at least 1 ns
        page.run("report.data.choices.nodes[report.nodes.findIndex(node => node.name === 'd')]"
                 f"[report.data.choices.backends.indexOf('host')] = [1e-9, 1, -1, {is_bound}]")
        check(("Alone it costs less on host" in details_of(page, "d")) == (is_bound == 0), f"compared with a bound: {is_bound}")
    for options in (("--placement", plan), ("diff", plan, plan)):
        page, head = opened(model, *options)
        text = details_of(page, "d")
        check("as the placement file" in head and "proven" not in head, f"headline of a given placement: {head}")
        check("as the placement file" in text and "Proven" not in text and "decide" not in text, f"details of a given place: {text}")
        search = page.run("document.getElementById('search').textContent")
        check("Bound" not in search and "optimal" not in search, f"the bound of a given placement: {search}")
        if options[0] == "--placement":
            check("Nothing else is allowed to run it here: acc: " in text, f"what is given is not told: {text}")
    page, _ = opened(model, "--forbid", "d=acc")
    check("Nothing else is allowed to run it here: acc: `--place`, `--forbid`" in details_of(page, "d"), "--forbid is not told")
    page, head = opened(model, "--objective=makespan")
    text = details_of(page, "d")
    check("proven" in head and "Proven" in text and "why-not" not in text and "Alone" not in text, f"makespan: {head} {text}")
    check(" of it on " not in head, f"a makespan is no sum of times: {head}")
    page, head = opened(model, "bench", "--runs", "2", "--input", "x=random", "--faults", "acc: lose after 0 launches")
    text = page.run("document.getElementById('timeline').textContent")
    check("acc[0] was lost" in text and "median" not in text and "measured in" not in text, f"a lost device: {text}")

    empty, quote = os.path.join(folder, "empty.ir"), os.path.join(folder, "quote.ir")
    with open(empty, "w", encoding="utf-8") as file:
        file.write("model @zero(%x: f32[4]) -> (%x: f32[4]) {\n}\n")
    with open(quote, "w", encoding="utf-8") as file:
        file.write('model @quote(%x: f32[4]) -> (%y: f32[4]) {\n  %"it\'s" = Relu(%x)\n  %y = Tanh(%"it\'s")\n}\n')
    page, head = opened(empty)
    check("Nothing to show" in page.run("document.getElementById('costs').textContent"), "costs of a model without nodes")
    page, head = opened(quote)
    check("why-not MODEL 'it'\\''s' BACKEND" in details_of(page, "it's"), "a name is not quoted")


def large_model(path, nodes):
    """Blocks of a convolution, an activation and a sum, with another operator now and then."""
    lines = ["model @large(%x: f32[1, 8, 8, 8]) -> (%last: f32[1, 8, 8, 8]) {", "  %w = const random seed 1 : f32[8, 8, 1, 1]"]
    last = "x"
    for block in range((nodes - 1) // 4):
        name = f"b{block}"
        other = "Tanh" if block % 25 == 24 else "Relu"
        lines += [f"  %{name}.c = Conv(%{last}, %w)", f"  %{name}.r = Relu(%{name}.c)", f"  %{name}.s = Conv(%{name}.r, %w)",
                  f"  %{name}.o = {other}(%{name}.s)"]
        last = f"{name}.o"
    rest = (nodes - 1) % 4
    for i in range(rest):
        lines.append(f"  %rest{i} = {'Tanh' if i % 2 else 'Sigmoid'}(%{last})")
        last = f"rest{i}"
    lines += [f"  %last = Relu(%{last})", "}"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main():
    if chromium.find() is None:
        skip("there is no chromium")
    digits = os.path.join(sources, "examples/digits/digits.ir")
    rules = os.path.join(sources, "rules")
    acc = os.path.join(sources, "tests/filetests/driver/Inputs/acc.rules")
    with tempfile.TemporaryDirectory() as folder, chromium.Chromium() as browser:
        path, document = compile_model(folder, digits, rules, "--json")
        page = open_page(browser, path)
        check_numbers(page, document)
        check_use(page)
        check(page.errors() == [], f"errors: {page.errors()}")
        colours = page.run("report.backends.map(name => [name, report.colour(name)])")
        for options in (("compare", "--json"), ("bench", "--runs", "3", "--input", "image=random")):
            path, _ = compile_model(folder, digits, rules, *options)
            page = open_page(browser, path)
            check(page.run("document.getElementById('title').textContent") == "digits.ir", "the title is not the file")
            check(all(page.run(f"report.colour({json.dumps(name)})") == colour for name, colour in colours), "colours change")
            empty = page.run("[...document.querySelectorAll('main > section:not([hidden])')]"
                             ".filter(one => one.children.length < 2).map(one => one.id)")
            check(empty == [], f"empty sections with {options}: {empty}")
            check(page.errors() == [], f"errors with {options}: {page.errors()}")
            section = "strategies" if "compare" in options else "timeline"
            check(page.run(f"document.querySelectorAll('#{section} tbody tr').length") > 1, f"{section} is empty")
            # Without a plan nothing is taken for a memory, which is not 0 bytes.
            if "compare" not in options:
                check_kernels(page)
            taken = page.run("[...document.querySelectorAll('#memory svg text')].map(e => e.textContent).filter(t => t.startsWith('taken'))")
            check("taken: 0 B" not in taken, f"memory with {options}: {taken}")
            # Libraries keep constants, and their copies are among them.
            kept = page.run("report.data.memory.filter(one => one.libraries).length")
            heads = page.run("[...document.querySelectorAll('#memory th')].map(one => one.textContent)")
            check(("of these packed copies" in heads) == (kept > 0), f"memory of libraries: {heads}")

        check_claims(browser, folder, sources, acc)

        model = os.path.join(folder, "large.ir")
        large_model(model, 5000)
        path, document = compile_model(folder, model, acc, "--json", "--max-states", "2000")
        page = browser.open(path)
        page.wait("document.documentElement.dataset.drawn", 60 * slowdown)
        page.wait("document.documentElement.dataset.drawn == 'all'", 60 * slowdown)
        paint = page.run("performance.getEntries().filter(one => one.name === 'graph' || one.name === 'first-contentful-paint')"
                         ".map(one => one.startTime / 1000)")
        longest = page.run("new Promise(done => { let most = 0; new PerformanceObserver(list => { for (const one of list.getEntries())"
                           " most = Math.max(most, one.duration / 1000); }).observe({type: 'longtask', buffered: true});"
                           " setTimeout(() => done(most), 300); })")
        print(f"5000 nodes: the graph after {max(paint):.2f} s, longest task {longest:.2f} s")
        check(max(paint) < 3 * slowdown, "the graph takes longer than 3 s")
        check(longest < 2 * slowdown, "the page freezes")
        check_numbers(page, document)
        check_use(page)
        check(page.errors() == [], f"errors: {page.errors()}")
    print("the page holds")


main()
