#!/usr/bin/env python3
"""Runs the conformance suite of cdfz through a reader of archives in any language: README.md has the protocol.

    run.py ./reader --its-options            # started once: a line for each file in, a line with the outcome out
    run.py --each cdfz restore -o -          # started for each file: the image to standard output, exit code 0, 3 or 4

Exit code: 0 if every case that was run has the expected outcome, else 1.
"""
import argparse, collections, fnmatch, hashlib, json, os, queue, subprocess, sys, threading

HERE = os.path.dirname(os.path.abspath(__file__))
CODES = {0: "image", 3: "damaged", 1: "refused", 2: "refused", 4: "refused"}


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--each", action="store_true", help="start the program for each archive, whose path is its last argument")
    p.add_argument("--only", metavar="PATTERN", default="*", help="run these cases, such as 'archive/good/*'")
    p.add_argument("--skip", metavar="PATTERN", action="append", default=[], help="leave out these cases; may be repeated")
    p.add_argument("--timeout", metavar="SECONDS", type=float, default=60, help="for each case, 60 by default")
    p.add_argument("--verbose", "-v", action="store_true", help="also print the cases that pass")
    p.add_argument("program", nargs=argparse.REMAINDER, help="the reader and its arguments")
    o = p.parse_args()
    o.program or p.error("no program")
    return o


class Reader:
    """A program that answers lines. It is started again after it has crashed or hung."""
    process, answered = None, False

    def __init__(self, program, timeout):
        self.program, self.timeout = program, timeout

    def ask(self, line):
        if self.process is None:
            self.process = subprocess.Popen(self.program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.answers = queue.Queue()
            threading.Thread(target=self.collect, args=(self.process.stdout, self.answers), daemon=True).start()
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass                               # what it has answered before it ended counts
        how = "ended"
        try:
            answer = self.answers.get(timeout=self.timeout).decode(errors="replace").rstrip("\n")
            if answer:
                self.answered = True
                return answer
            code = self.process.wait(1)
        except (queue.Empty, subprocess.TimeoutExpired):
            how = f"no answer in {self.timeout:g} s"
            self.process.kill()
            code = self.process.wait()
        self.process = None
        self.answered or sys.exit(f"run.py: {self.program[0]}: {how}, exit code {code}, at the first case")
        return f"{how}, exit code {code}"

    @staticmethod
    def collect(stream, answers):
        for line in stream:
            answers.put(line)
        answers.put(b"")


def run_each(program, path, timeout):
    """Returns the outcome of a program that restores the archive at path, and exits."""
    try:
        p = subprocess.run([*program, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"not finished in {timeout:g} s"
    outcome = CODES.get(p.returncode, f"exit code {p.returncode}")
    return outcome + (" " + hashlib.sha256(p.stdout).hexdigest() if outcome == "image" else "")


def main():
    o = arguments()
    with open(os.path.join(HERE, "cases.json"), encoding="utf-8") as f:
        suite = json.load(f)
    if suite["suite"] != 1:
        sys.exit(f"run.py: expected suite 1, found {suite['suite']}")
    reader, count = Reader(o.program, o.timeout), collections.Counter()
    for case in suite["cases"]:
        name, path = case["name"], os.path.join(HERE, case["file"])
        if not fnmatch.fnmatchcase(name, o.only) or any(fnmatch.fnmatchcase(name, s) for s in o.skip):
            continue
        if o.each:
            found = run_each(o.program, path, o.timeout) if case["request"] == "archive" else "skipped"
        else:
            parameters = [",".join(map(str, case["parameters"]))] if "parameters" in case else []
            found = reader.ask(" ".join([case["request"], *parameters, path]))
        wanted = " or ".join(case["expect"]) + (" " + case["sha256"] if "sha256" in case else "")
        # Of damage and refusal, the first word counts. What follows is for people.
        same = found == wanted if "sha256" in case else found.split(" ")[0] in case["expect"]
        result = "skipped" if found == "skipped" else "passed" if same else "FAILED"
        count[result] += 1
        if result == "FAILED" or o.verbose and result == "passed":
            print(f"{result} {name}: expected {wanted}, found {found}" + (f" ({case['comment']})" if case.get("comment") else ""))
    if reader.process:
        reader.process.stdin.close()
        try:
            reader.process.wait(o.timeout)
        except subprocess.TimeoutExpired:
            reader.process.kill()
            count["FAILED"] += 1
            print(f"FAILED: {o.program[0]} did not end in {o.timeout:g} s after its input")
    print(f"{count['passed']} passed, {count['FAILED']} failed, {count['skipped']} skipped")
    sys.exit(1 if count["FAILED"] or not count["passed"] else 0)


if __name__ == "__main__":
    main()
