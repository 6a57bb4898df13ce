import { Command, INTERRUPT } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import type { Graph } from "../../../../src/deployment.ts";
import { human, lastText, onThread, openGraph } from "./support.ts";

const ask = human("Write to ada@example.com that the build is green");

async function openPaused(): Promise<Graph> {
  const approval = await openGraph("approval");
  const state = await approval.invoke(ask, onThread("t"));
  expect(state.sent).toEqual([]);
  expect(state[INTERRUPT][0].value).toEqual({
    action_requests: [
      {
        name: "send_email",
        args: { to: "ada@example.com", subject: "The build is green", body: "The build is green" },
        description: "Send this email to ada@example.com?",
      },
    ],
    review_configs: [{ action_name: "send_email", allowed_decisions: ["approve", "edit", "reject", "respond"] }],
  });
  return approval;
}

describe("approval", () => {
  const yes = [{ decisions: [{ type: "approve" }] }, [{ type: "accept", args: null }], true, "yes", { ok: true }];
  it.each(yes)("sends when the answer is %j", async (resume) => {
    const approval = await openPaused();
    const state = await approval.invoke(new Command({ resume }), onThread("t"));
    expect(state.sent).toMatchObject([{ to: "ada@example.com" }]);
    expect(lastText(state)).toContain("Sent to ada@example.com.");
    expect((await approval.getState(onThread("t"))).next).toEqual([]);
  });

  const no = [
    { decisions: [{ type: "reject", message: "Too early." }] },
    [false],
    "no",
    { ok: false },
    {},
    5,
    { decisions: [] },
  ];
  it.each(no)("does not send when the answer is %j", async (resume) => {
    const approval = await openPaused();
    const state = await approval.invoke(new Command({ resume }), onThread("t"));
    expect(state.sent).toEqual([]);
    expect(lastText(state)).toContain("Not sent");
  });

  it("sends what was edited", async () => {
    const approval = await openPaused();
    const edited_action = { name: "send_email", args: { to: "bob@example.com", subject: "s", body: "b" } };
    const decisions = [{ type: "edit", edited_action }];
    const state = await approval.invoke(new Command({ resume: { decisions } }), onThread("t"));
    expect(state.sent).toEqual([edited_action.args]);
    expect(state.messages[1].tool_calls[0].args).toEqual(edited_action.args);
  });

  it("hands a response to the model instead of sending", async () => {
    const approval = await openPaused();
    const state = await approval.invoke(new Command({ resume: "Who is Ada?" }), onThread("t"));
    expect(state.sent).toEqual([]);
    expect(state.messages[2]).toMatchObject({ content: "Who is Ada?", status: "success" });
  });
});
