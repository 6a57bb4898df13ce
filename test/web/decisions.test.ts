import { describe, expect, it } from "vitest";
import { decisionsIn, parseInterrupt } from "../../packages/web/chat/turn/decisions.ts";
import { fieldOfSchema, fieldOfValue, fromText, toText } from "../../packages/web/ui/fields.ts";

describe("what a waiting run asks", () => {
  it("is read in either casing, with the answers it allows", () => {
    const asked = { action_requests: [{ name: "pay", args: { amount: 5 } }], review_configs: [] };
    expect(parseInterrupt(asked)).toMatchObject({ actions: [{ name: "pay", allowed: ["approve", "edit", "reject"] }] });
    const camel = {
      actionRequests: [{ action: "pay", arguments: { amount: 5 } }, { name: "tell" }],
      reviewConfigs: [{ actionName: "tell", allowedDecisions: ["approve"] }],
    };
    expect(parseInterrupt(camel)).toMatchObject({
      actions: [
        { name: "pay", args: { amount: 5 } },
        { name: "tell", allowed: ["approve"] },
      ],
    });
    expect(decisionsIn(camel)).toBe(2);
  });

  it("may be a text, or a text in a record of its own, or anything", () => {
    expect(parseInterrupt("Which city?")).toEqual({ kind: "text", text: "Which city?" });
    expect(parseInterrupt({ question: "ok?" })).toEqual({ kind: "text", text: "ok?" });
    expect(parseInterrupt({ question: "ok?", more: 1 })).toMatchObject({ kind: "value" });
    expect(parseInterrupt(null)).toEqual({ kind: "value", value: null });
  });
});

describe("editing arguments", () => {
  it.each([
    ["amount", 84.2, "50", 50],
    ["notify", true, "false", false],
    ["reason", "double", "twice", "twice"],
    ["tags", ["a"], '["b"]', ["b"]],
  ])("keeps the type of %s", (name, value, typed, read) => {
    const { kind } = fieldOfValue(name, value);
    expect(fromText(toText(value, kind), kind).value).toEqual(value);
    expect(fromText(typed, kind)).toEqual({ value: read });
  });

  it("says what is wrong instead of guessing", () => {
    expect(fromText("fifty", "number").error).toBe("Not a number.");
    expect(fromText("{", "json").error).toMatch(/JSON/);
  });
});

describe("a field of a schema", () => {
  it("is chosen by type", () => {
    expect(fieldOfSchema("tone", { type: "string", enum: ["plain", "warm"] })).toMatchObject({ kind: "choice" });
    expect(fieldOfSchema("n", { type: ["integer", "null"] })).toMatchObject({ kind: "number" });
    expect(fieldOfSchema("x", { type: "object" })).toMatchObject({ kind: "json" });
  });
});
