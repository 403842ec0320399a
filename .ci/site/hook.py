"""Prepares the pages of docs/ for mkdocs: the navigation and whom each page is for are those of the table in docs/README.md,
and links out of docs/ lead to the repository."""
import os
import re

from mkdocs.exceptions import PluginError

REPOSITORY = "https://github.com/cdfz-format/cdfz/"
GROUPS = [("everyone", "Start"), ("archivists", "Archivists"), ("scientists", "Scientists"), ("programmers", "Programmers"),
          ("implementers", "Implementers"), ("developers", "Developers of cdfz")]
audiences, titles = {}, {}


def on_config(config):
    with open(os.path.join(config["docs_dir"], "pages.md"), encoding="utf-8") as f:
        audiences.update(re.findall(r"^\| \[[^]]*\]\(([^)/]+\.md)\) \| ([^|]*) \|", f.read(), re.M))
    for name in os.listdir(config["docs_dir"]):
        if name.endswith(".md"):
            with open(os.path.join(config["docs_dir"], name), encoding="utf-8") as f:
                titles[name] = re.search(r"^# (.*)$", f.read(), re.M)[1]
    missing = [p for p in os.listdir(config["docs_dir"]) if p.endswith(".md") and p not in audiences and p not in ("index.md", "pages.md")]
    if missing:
        raise PluginError(f"the table of docs/README.md lacks {', '.join(sorted(missing))}")
    nav, last = [{"Home": "index.md"}], set(audiences)
    group = {p: next((t for part in whom.split(",") for w, t in GROUPS if w in part), None) for p, whom in audiences.items()}
    for word, title in GROUPS:
        pages = [p for p in audiences if group[p] == title]
        last -= set(pages)
        nav.append({title: pages + (["pages.md"] if word == "everyone" else [])})
    if last:
        raise PluginError(f"no group of the navigation for {last}")
    config["nav"] = nav + [{"Source": REPOSITORY}]
    return config


def on_page_markdown(markdown, page, **_):
    name = page.file.src_path
    def out(m):
        path = m[1].rstrip("/")
        return f"]({REPOSITORY}{'blob' if os.path.splitext(path.split('#')[0])[1] else 'tree'}/main/{path})"
    markdown = re.sub(r"\]\((?:\.\./)+([^)]+)\)", out, markdown)
    markdown = re.sub(r"\]\((soak)\)", lambda m: f"]({REPOSITORY}tree/main/docs/soak)", markdown)
    markdown = re.sub(r"\]\(README\.md", "](pages.md", markdown)
    if name == "pages.md":                     # titles instead of the names of files
        markdown = re.sub(r"\[([\w-]+\.md)\]\(\1", lambda m: f"[{titles[m[1]]}]({m[1]}", markdown)
    if name in audiences:                      # after the title
        markdown = re.sub(r"\A(# [^\n]*\n)", rf"\1\n*For {audiences[name]}.*{{: .whom }}\n", markdown, count=1)
    return markdown
