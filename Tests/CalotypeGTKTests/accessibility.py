#!/usr/bin/python3
"""Reads a program's accessibility tree and presses what is in it, as a screen reader would.

    accessibility.py PID tree                    every node as JSON
    accessibility.py PID press ROLE NAME         the first action of the node with that role and name

What is not there yet is waited for, ten seconds at most.
"""
import json
import sys
import time

import pyatspi


def program(pid):
    for child in pyatspi.Registry.getDesktop(0):
        try:
            if child is not None and child.get_process_id() == pid:
                return child
        except Exception:
            continue
    return None


def describe(node, depth=0):
    found = {"role": node.getRoleName(), "name": node.name, "description": node.description}
    states = node.getState()
    wanted = (pyatspi.STATE_FOCUSED, pyatspi.STATE_FOCUSABLE, pyatspi.STATE_SELECTED, pyatspi.STATE_BUSY)
    found["states"] = [pyatspi.stateToString(state) for state in wanted if states.contains(state)]
    interfaces = pyatspi.listInterfaces(node)
    if "Text" in interfaces:
        text = node.queryText()
        found["text"] = text.getText(0, text.characterCount)
    if "Value" in interfaces:
        found["value"] = node.queryValue().currentValue
    if "Action" in interfaces:
        action = node.queryAction()
        found["actions"] = [action.getName(index) for index in range(action.nActions)]
    if depth < 30:
        found["children"] = [describe(child, depth + 1) for child in node if child is not None]
    return found


def search(node, role, name):
    if node.getRoleName() == role and node.name == name:
        return node
    for child in node:
        found = search(child, role, name) if child is not None else None
        if found is not None:
            return found
    return None


def press(root, role, name):
    node = search(root, role, name)
    if node is None or "Action" not in pyatspi.listInterfaces(node):
        return None
    return node.queryAction().doAction(0)


def main():
    pid, command, *words = int(sys.argv[1]), *sys.argv[2:]
    end = time.monotonic() + 10
    while True:
        try:
            root = program(pid)
            if root is not None:
                result = describe(root) if command == "tree" else press(root, *words)
                if result is not None:
                    print(json.dumps(result))
                    return 0
        except Exception as error:  # A node that goes while it is read: read again.
            sys.stderr.write(f"{error}\n")
        if time.monotonic() > end:
            sys.stderr.write(f"not found: {command} {' '.join(words)}\n")
            return 1
        time.sleep(0.05)


sys.exit(main())
