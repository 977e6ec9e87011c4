"""Hooks of mkdocs.yml. The pages are written for GitHub; these hooks change what Python-Markdown reads in another way."""

import os
import re

LINK = re.compile(r"(!?\[[^\]]*\]\()([^()\s]+)(\))")
FENCE = re.compile(r"^(\s*)(`{3,})\s*(\S*)(.*)$")
ITEM = re.compile(r"^(\s*)(- |\d+\. )")


def on_config(config):
    """The navigation is the tree of the docs. Pages have the order in which docs/README.md and the README.md of the folder link them."""
    docs = config.docs_dir
    index = links(docs, "README.md")
    config.nav = [{"Start": "README.md"}] + [{title: tree(docs, folder, index)} for title, folder in config.extra["parts"].items()]
    return config


def links(docs, page):
    if not os.path.exists(os.path.join(docs, page)):
        return []
    with open(os.path.join(docs, page), encoding="utf-8") as f:
        found = [m[2].partition("#")[0] for m in LINK.finditer(f.read())]
    return [os.path.normpath(os.path.join(os.path.dirname(page), link)) for link in found if link]


def tree(docs, folder, index):
    order = links(docs, f"{folder}/README.md") + index
    pages = []
    for name in sorted(os.listdir(os.path.join(docs, folder))):
        path = f"{folder}/{name}"
        if os.path.isdir(os.path.join(docs, path)):
            below = tree(docs, path, index)
            if below:
                pages.append((path, {title(docs, path): below}))
        elif name.endswith(".md"):
            pages.append((path, path))

    def key(entry):
        path = entry[0]
        at = min((i for i, p in enumerate(order) if p == path or p.startswith(path + "/")), default=len(order))
        return (not path.endswith("/README.md"), at, path)

    return [entry for _, entry in sorted(pages, key=key)]


def title(docs, folder):
    page = os.path.join(docs, folder, "README.md")
    if not os.path.exists(page):
        return os.path.basename(folder).capitalize()
    with open(page, encoding="utf-8") as f:
        return f.readline().lstrip("# ").strip()


def on_page_markdown(markdown, page, config, files):
    """Links out of docs/ go to the repository. Fences lose the words for tests. Lists and their contents get Python-Markdown's form."""
    out = []
    fence = None  # the backquotes that end the block
    in_list = in_tabs = tab = False
    previous = ""
    for line in markdown.split("\n"):
        m = FENCE.match(line)
        stripped = line.strip()
        opens = closes = False
        if m and fence is None:
            fence, opens = m[2], True
            line = f"{m[1]}{m[2]}{m[3]}"
        elif m and m[2] == fence and not m[3]:
            closes = True
        if not opens and (fence is None or closes) and not m:
            item = ITEM.match(line)
            if item and not in_list and previous.strip():
                out.append("")  # GitHub does not need an empty line before a list
            if item:
                in_list = True
            elif stripped and not line.startswith(" ") and not previous.strip():
                in_list = False
            line = LINK.sub(lambda m: m[1] + outside(m[2], page, config) + m[3], line)
        if in_list and line.startswith(" ") and not ITEM.match(line):
            line = "    " + line[3 if line.startswith("   ") and not line.startswith("    ") else 2 :]
        if fence is None and stripped == "<!-- tabs -->":
            in_tabs, tab = True, False
            continue
        if fence is None and stripped == "<!-- /tabs -->":
            in_tabs = tab = False
            out.append("")
            continue
        if in_tabs and fence is None and re.fullmatch(r"\*\*[^*]+\*\*", stripped):
            out.append(f'=== "{stripped[2:-2]}"')
            tab = True
        else:
            out.append("    " + line if tab and line else line)
        if closes:
            fence = None
            out.append("")  # what follows a block is a new paragraph or item
        previous = line
    return "\n".join(out)


def outside(link, page, config):
    """The link, or the address of the file in the repository if it is not in docs/ or not on the site."""
    if "://" in link or link.startswith(("#", "mailto:")):
        return link
    path, mark, anchor = link.partition("#")
    target = os.path.normpath(os.path.join("docs", os.path.dirname(page.file.src_uri), path))
    if not os.path.exists(target):
        return link  # MkDocs reports it
    if os.path.isdir(target) and os.path.exists(os.path.join(target, "README.md")) and target.startswith("docs/"):
        return os.path.join(path, "README.md") + mark + anchor
    if target.startswith("docs/") and not target.startswith("docs/reference/schema") and not os.path.isdir(target):
        return link
    kind = "tree" if os.path.isdir(target) else "blob"
    return f"{config.extra['repository']}/{kind}/main/{target}{mark}{anchor}"
