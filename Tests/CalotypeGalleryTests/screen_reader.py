#!/usr/bin/python3
"""Reads a program's accessibility tree and presses what is in it, as a screen reader would.

    screen_reader.py PID

Each line of standard input is a wish as JSON, each line of standard output its answer:

    {"do": "find", "role": R, "name": N, "seconds": S}   waits for a node; its role, name, text and description
    {"do": "gone", "role": R, "name": N, "seconds": S}   waits until there is no such node
    {"do": "press", "role": R, "name": N, "seconds": S}  waits for it and does its first action
    {"do": "rows"}                                       the names of the list's first rows, in order
    {"do": "tree"}                                       all of it

A role that is left out is any; a name that ends in an ellipsis (…) is the beginning of one. What is not there yet is
waited for. Of a list only the first rows are gone through: it keeps some two hundred.
"""
import json
import sys
import time

import pyatspi

FIRST_ROWS = 40


def program(pid):
    for child in pyatspi.Registry.getDesktop(0):
        try:
            if child is not None and child.get_process_id() == pid:
                return child
        except Exception:
            continue
    return None


def children(node):
    count = node.childCount
    if node.getRoleName() in ("list", "table", "grid"):
        count = min(count, FIRST_ROWS)
    for index in range(count):
        child = node.getChildAtIndex(index)
        if child is not None:
            yield child


def text_of(node):
    if "Text" not in pyatspi.listInterfaces(node):
        return ""
    text = node.queryText()
    return text.getText(0, text.characterCount)


def describe(node):
    return {
        "role": node.getRoleName(), "name": node.name, "description": node.description,
        "text": text_of(node) if node.getRoleName() in ("label", "text", "entry") else "",
    }


def matches(text, name):
    return text.startswith(name[:-1]) if name.endswith("…") and name != "…" else text == name


def search(node, role, name, description=None):
    """All nodes that are meant, in the tree's order."""
    if role is None or node.getRoleName() == role:
        if matches(node.name, name) or (node.getRoleName() == "label" and matches(text_of(node), name)):
            if description is None or matches(node.description, description):
                yield node
    for child in children(node):
        yield from search(child, role, name, description)


def press(node):
    if "Action" not in pyatspi.listInterfaces(node):
        return False
    action = node.queryAction()
    return action.nActions > 0 and action.doAction(0)


def has_focused_row(node):
    if node.getRoleName() in ("list item", "table cell") and node.getState().contains(pyatspi.STATE_FOCUSED):
        return True
    return any(has_focused_row(child) for child in children(node))


def wait_for_list(root):
    """A menu that is closing still has the keyboard for a moment, which then goes to the list."""
    end = time.monotonic() + 5
    while not has_focused_row(root) and time.monotonic() < end:
        time.sleep(0.05)


def rows(node):
    if node.getRoleName() in ("list", "table", "grid") and node.name == "Pictures":
        return [child.name for child in children(node)]
    for child in children(node):
        found = rows(child)
        if found is not None:
            return found
    return None


def tree(node, depth=0):
    return [f"{'  ' * depth}{describe(node)}"] + [line for child in children(node) for line in tree(child, depth + 1)]


def act(root, wish):
    """The answer, or None where what is wanted is not there yet."""
    do = wish["do"]
    if do == "tree":
        return {"lines": tree(root)}
    if do == "rows":
        found = rows(root)
        return None if found is None else {"rows": found}
    found = search(root, wish.get("role"), wish["name"], wish.get("description"))
    if do == "press":
        # A menu's button has another of the same name in it, which is the one that can be pressed.
        if not any(press(node) for node in found):
            return None
        if wish.get("role") == "menu item":
            wait_for_list(root)
        return {}
    node = next(found, None)
    if do == "gone":
        return {} if node is None else None
    return None if node is None else describe(node)


def main():
    pid, root = int(sys.argv[1]), None
    for line in sys.stdin:
        wish = json.loads(line)
        end = time.monotonic() + wish.get("seconds", 20)
        while True:
            try:
                root = root or program(pid)
                answer = act(root, wish) if root is not None else None
            except Exception as error:  # A node that goes while it is read: read again.
                answer, root = None, None
                last = str(error)
            if answer is not None or time.monotonic() > end:
                break
            time.sleep(0.05)
        print(json.dumps({"found": answer is not None, **(answer or {})}), flush=True)


main()
