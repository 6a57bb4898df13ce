import { expect, it } from "vitest";
import { describeFault } from "../../packages/web/chat/diagram/fault.ts";

const JISON = (line: number) =>
  `Parse error on line ${line}:\n...lowchart LR  a --> [b\n------^\nExpecting 'AMP', got 'SQS'`;

it.each([
  [JISON(2), "flowchart LR\n  a --> [b", "Syntax error in line 2: a --> [b"],
  [JISON(3), "flowchart LR\n  a -->", "Syntax error at the end."],
  [JISON(2), "%% a comment is not counted\nflowchart LR\n  a --> [b", "The diagram has a syntax error."],
  [JISON(2), "---\ntitle: One\n---\nflowchart LR\n  a --> [b", "The diagram has a syntax error."],
  [
    "Parsing failed:  Parse error on line 2, column 2: Expecting token of type 'EOF' but found `comit`.",
    "gitGraph\n comit",
    "Syntax error in line 2: comit",
  ],
  ["Lexical error on line 1. Unrecognized text.\npie ?", "pie ?", "Syntax error in line 1: pie ?"],
  [
    "No diagram type detected matching given configuration for text: hello",
    "hello",
    "The first line does not name a known type of diagram.",
  ],
  [
    "Edge limit exceeded. 500 edges found.\n\nInitialize mermaid",
    "flowchart LR",
    "Edge limit exceeded. 500 edges found.",
  ],
  ["", "flowchart LR", "The diagram cannot be drawn."],
])("says in one sentence why a diagram is not drawn: %j", (message, text, expected) => {
  expect(describeFault(new Error(message), text)).toBe(expected);
});
