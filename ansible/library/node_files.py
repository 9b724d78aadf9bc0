#!/usr/bin/python
"""Do these files of the node hold exactly this text, or are they gone?

files: [{path, content, mode, block, state}], all in one round trip. With `block` the text is one marked block inside a file that
has other owners too (/etc/hosts). state: present or absent. `emptied` lists folders that stay, without what they hold; `tidied` ones lose
only what people own (/tmp also belongs to running services). A folder in which something is mounted is refused.
"""

from __future__ import annotations

import re

from ansible.module_utils.basic import AnsibleModule

from ansible.module_utils.node_tools import NODE_ARGS, Node

BLOCK = re.compile(r"[a-z][a-z0-9-]{0,40}\Z")
MODE = re.compile(r"0?[0-7]{3,4}\Z")


def markers(block):
    return "# BEGIN quartermaster %s" % block, "# END quartermaster %s" % block


def with_block(old, block, content):
    """The text of a file after its block was replaced, added at the end, or (content None) taken out."""
    begin, end = markers(block)
    kept, inside, place = [], False, None
    for line in old.splitlines():
        if line in (begin, end):
            inside = line == begin
            place = len(kept) if place is None else place
        elif not inside:
            kept.append(line)
    if content is not None:
        place = len(kept) if place is None else place
        kept[place:place] = [begin] + content.rstrip("\n").splitlines() + [end]
    return "".join("%s\n" % line for line in kept)


def put(node, item):
    content = item["content"]
    if content is None:
        node.fail("%s has no content" % item["path"])
    if "\0" in content:
        node.fail("%s would hold a NUL character" % item["path"])
    if content and not content.endswith("\n"):
        content += "\n"
    if item["block"]:
        content = with_block(node.read(item["path"]) or "", item["block"], content)
    node.write(item["path"], content, mode=int(item["mode"], 8))


def take_away(node, item):
    if item["block"]:
        old = node.read(item["path"])
        if old is not None and markers(item["block"])[0] in old.splitlines():
            rest = with_block(old, item["block"], None)
            node.write(item["path"], rest, mode=int(item["mode"], 8)) if rest else node.remove(item["path"])
    else:
        node.remove_tree(item["path"])


def main():
    item = {
        "path": {"type": "str", "required": True},
        "content": {"type": "str"},
        "mode": {"type": "str", "default": "0644"},
        "block": {"type": "str"},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    }
    module = AnsibleModule(
        argument_spec=dict(
            NODE_ARGS,
            files={"type": "list", "elements": "dict", "default": [], "options": item},
            emptied={"type": "list", "elements": "str", "default": []},
            tidied={"type": "list", "elements": "str", "default": []},
        ),
        supports_check_mode=True,
    )
    node = Node(module)
    for entry in module.params["files"]:
        if not MODE.match(entry["mode"]) or (entry["block"] and not BLOCK.match(entry["block"])):
            node.fail("%s: mode is octal like 0644, block a short lower-case name" % entry["path"])
        put(node, entry) if entry["state"] == "present" else take_away(node, entry)
    for path in module.params["emptied"]:
        node.empty(path)
    for path in module.params["tidied"]:
        node.empty(path, people_only=True)
    node.done()


if __name__ == "__main__":
    main()
