import { expect, it } from "vitest";
import { decidedBy, decidedText } from "../../packages/web/chat/turn/past.ts";

const call = (name: string) => ({ id: name, name, args: {} });
const asked = [{ id: "a1", type: "ai", content: "", tool_calls: [call("send_email"), call("delete")] }];
const lines = (resume: unknown) =>
  decidedBy({ run: "r", after: "a1" }, resume, asked).map(({ words, refused }) => [words, refused]);

it.each([
  [
    { decisions: [{ type: "approve" }, { type: "reject", message: "too early" }] },
    [
      ["approved send_email", false],
      ["rejected delete: too early", true],
    ],
  ],
  [{ decisions: [{ type: "edit", edited_action: { name: "pay", args: {} } }] }, [["edited and approved pay", false]]],
  [{ decisions: [{ type: "approve" }] }, [["approved the action", false]]],
  ["yes, continue", [["answered: yes, continue", false]]],
  [
    { ["0".repeat(32)]: "left", ["1".repeat(32)]: { decisions: [{ type: "ignore" }] } },
    [
      ["answered: left", false],
      ["rejected delete", true],
    ],
  ],
  [{ any: "thing" }, [["answered", false]]],
  [null, []],
])("shows what a person decided: %j", (resume, expected) => {
  expect(lines(resume)).toEqual(expected);
});

it.each([
  [undefined, "You approved send_email"],
  [{ via: "api" }, "You approved send_email"],
  [{ via: "console" }, "You approved send_email"],
  [{ via: "link", name: "Ana" }, "Ana approved send_email, by link"],
  [{ via: "webhook" }, "Approved send_email, by the webhook's receiver"],
])("says who decided: %j", (answered, expected) => {
  const one = [{ id: "a1", type: "ai", content: "", tool_calls: [call("send_email")] }];
  const [decided] = decidedBy({ run: "r", after: "a1", answered }, { decisions: [{ type: "approve" }] }, one);
  expect(decided && decidedText(decided)).toBe(expected);
});
