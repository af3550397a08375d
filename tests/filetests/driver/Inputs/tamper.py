"""tamper.py CHECK_CERTIFICATE CHECK_PLAN MODEL RULES CERTIFICATE: applies every kind of tampering to an honest certificate.
Prints why each is refused; exit 1 where one is called proven.

A kind is tried on `certificate` where the file contradicts itself, and on `plan` where only the model and the rules show it."""
import copy
import json
import os
import subprocess
import sys


class Tools:
    """The two checkers, for certificates of one model."""

    def __init__(self, certificate_checker, plan_checker, model, rules):
        self.certificate_checker, self.plan_checker, self.model, self.rules = certificate_checker, plan_checker, model, rules

    def check_certificate(self, path):
        return run(self.certificate_checker, path)

    def check_plan(self, path):
        return run(self.plan_checker, self.model, self.rules, path)


def load(path):
    with open(path) as file:
        return json.load(file)


def most_expensive(c):
    """The candidates of the host alone, one for each node: a valid plan that costs more. None: the host lacks one."""
    chosen, covered = [], set()
    for i, candidate in enumerate(c["candidates"]):
        owner = c["owners"][candidate["owner"]]
        if owner["instance"] == "host" and len(candidate["nodes"]) == 1 and candidate["nodes"][0] not in covered:
            covered.add(candidate["nodes"][0])
            chosen.append(i)
    return chosen if len(covered) == len(c["nodes"]) else None


def claim_all(c):
    c["claim"] = {"bound": c["plan"]["cost"], "optimal": True}


def cost_up(c, i):
    c["candidates"][i]["cost"] += 1000000


def first_chosen(c):
    return c["plan"]["chosen"][0]


def value_with_output(c):
    return next(v for v in c["values"] if v["output"])


def drop_unchosen(c):
    """All candidates that are not in the plan, so that it is the best of what is left."""
    kept = c["plan"]["chosen"]
    c["candidates"] = [c["candidates"][i] for i in kept]
    c["plan"]["chosen"] = list(range(len(kept)))
    c["proof"] = {"order": c["proof"]["order"], "scale": 1, "bound": c["plan"]["cost"], "cases": [{"rounds": []}]}
    claim_all(c)


def forbid_quietly(c):
    c["about"]["options"].pop("--forbid", None)
    c["about"]["words"] = [line for line in c["about"]["words"] if not line.startswith("--forbid")]


def kinds():
    yield "plan: a partition left out", "certificate", lambda c: c["plan"]["chosen"].pop()
    yield "plan: a partition twice", "certificate", lambda c: c["plan"]["chosen"].append(first_chosen(c))
    yield "plan: a candidate that there is not", "certificate", lambda c: c["plan"]["chosen"].append(len(c["candidates"]))
    yield "plan: its cost lowered", "certificate", lambda c: c["plan"].update(cost=c["plan"]["cost"] - 1)
    yield "plan: its cost raised", "certificate", lambda c: c["plan"].update(cost=c["plan"]["cost"] + 1)
    yield "claim: a bound above the cost", "certificate", lambda c: c["claim"].update(bound=c["plan"]["cost"] + 1)
    yield "claim: not optimal where bound and cost meet", "certificate", lambda c: c["claim"].update(bound=c["plan"]["cost"], optimal=False)
    yield "claim: optimal where there is a gap", "certificate", lambda c: c["claim"].update(bound=0, optimal=True)
    yield "claim: optimal, and no proof", "certificate", lambda c: (claim_all(c), c.update(proof=None))
    yield "proof: shows more than the cost", "certificate", lambda c: c["proof"].update(bound=c["plan"]["cost"] + 1)
    yield "proof: no case", "certificate", lambda c: c["proof"].update(cases=[])
    yield "proof: cases without rounds", "certificate", without_rounds
    yield "proof: an order with a node twice", "certificate", lambda c: c["proof"]["order"].append(c["proof"]["order"][0])
    yield "proof: a scale of zero", "certificate", lambda c: c["proof"].update(scale=0)
    yield "proof: of the best plan, for a worse one", "certificate", worse_plan
    yield "about: of another model", "plan", lambda c: c["about"].update(model="0" * 32)
    yield "about: another rule file", "plan", lambda c: c["about"]["files"][0].__setitem__(1, "0" * 32)
    yield "about: a rule file more", "plan", lambda c: c["about"]["files"].append(["more.rules", "0" * 32])
    yield "about: a rule file less", "plan", lambda c: c["about"]["files"].pop()
    yield "about: taken out", "plan", lambda c: c.update(about=None)
    yield "about: a constraint hidden", "plan", forbid_quietly
    yield "about: a constraint hidden in the words", "plan", lambda c: c["about"].update(words=[])
    yield "about: an unknown option", "plan", lambda c: c["about"]["options"].update({"--magic": ["yes"]})
    yield "about: threads that are no number", "plan", lambda c: c["about"]["options"].update({"--threads": [c["about"]["options"]["--threads"][0] + "x"]})
    yield "problem: another model's name", "plan", lambda c: c.update(model="other")
    yield "problem: another node's name", "plan", lambda c: c["nodes"].__setitem__(0, "other")
    yield "problem: a cost changed, of a candidate that is not chosen", "plan", other_cost
    yield "problem: a cost changed, with the plan's", "plan", free_candidate
    yield "problem: better candidates deleted", "plan", drop_unchosen
    yield "problem: an output flag deleted", "plan", lambda c: value_with_output(c).update(output=False)
    yield "problem: an output flag added", "plan", lambda c: c["values"][0].update(output=not c["values"][0]["output"])
    yield "problem: bytes of a value", "plan", lambda c: c["values"][0].update(bytes=c["values"][0]["bytes"] + 64)
    yield "problem: cheaper conversions", "plan", lambda c: [edge.__setitem__(2, 0) for table in c["conversions"] for edge in table]
    yield "problem: a conversion twice, first for nothing", "plan", lambda c: [table.insert(0, [edge[0], edge[1], 0]) for table in c["conversions"] for edge in table[:1]]
    yield "problem: an owner of a known device added", "plan", lambda c: c["owners"].append(dict(c["owners"][-1], memory=0))
    yield "proof: a price of a limit twice", "certificate", price_twice
    yield "problem: a limit of partitions", "plan", lambda c: c["owners"][-1].update(max_partitions=1000)
    yield "problem: more memory", "plan", lambda c: c["owners"][-1].update(memory=1 << 50)
    yield "problem: another backend's name", "plan", lambda c: c["owners"][-1].update(backend="other")
    yield "problem: the hash alone", "certificate", lambda c: c["about"].update(problem="0" * 16)


def worse_plan(c):
    chosen = most_expensive(c)
    if chosen is None:
        return False
    c["plan"] = {"chosen": chosen, "cost": sum(c["candidates"][i]["cost"] for i in chosen)}
    claim_all(c)
    c["proof"]["bound"] = c["plan"]["cost"]


def without_rounds(c):
    for case in c["proof"]["cases"]:
        case["rounds"] = []
        case.pop("sweep", None)


def price_twice(c):
    limits = next(r["limits"] for case in c["proof"]["cases"] for r in case["rounds"] if isinstance(r, dict) and r.get("limits"))
    limits.append(limits[0])


def other_cost(c):
    cost_up(c, next(i for i in range(len(c["candidates"])) if i not in c["plan"]["chosen"] and c["candidates"][i]["cost"]))


def free_candidate(c):
    i = first_chosen(c)
    c["plan"]["cost"] -= c["candidates"][i]["cost"]
    c["candidates"][i]["cost"] = 0
    claim_all(c)


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def reason(text):
    lines = [line for line in text.splitlines() if "error:" in line or line.startswith("claimed")]
    return lines[0].split("error:")[-1].strip() if lines else text.strip().splitlines()[-1]


def try_kind(tools, path, honest, where, act):
    """The forged certificate, and what checking it says; None where this kind changes nothing of it."""
    forged = copy.deepcopy(honest)
    try:
        changes = act(forged)
    except (IndexError, KeyError, StopIteration, TypeError):
        return None, 0, ""  # there is nothing of the kind in it
    if changes is False or forged == honest:
        return None, 0, ""
    forged_path = f"{path}.forged"
    with open(forged_path, "w") as file:
        json.dump(forged, file)
    code, text = tools.check_plan(forged_path) if where == "plan" else tools.check_certificate(forged_path)
    os.remove(forged_path)
    return forged, code, text


def main():
    path = sys.argv[5]
    tools = Tools(*sys.argv[1:5])
    honest = load(path)
    code, text = tools.check_plan(path)
    assert code == 0, f"the honest certificate is refused: {text}"
    failures = tried = 0
    for name, where, act in kinds():
        forged, code, text = try_kind(tools, path, honest, where, act)
        if forged is None:
            continue
        tried += 1
        accepted = code == 0
        failures += accepted or code not in (1, 4)
        print(f"{'ACCEPTED' if accepted else 'refused '} exit {code}  {name}: {reason(text)}")
    print(f"{tried} kinds tried, {failures} accepted")
    sys.exit(1 if failures or tried < 26 else 0)


if __name__ == "__main__":
    main()
