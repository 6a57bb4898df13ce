/** The one line above the composer: what holds now, and what can be done about it. */
import { quantityText, secondsText } from "../../ui/format.ts";
import { type Connection, QUIET_MS } from "../session/connection.ts";

export type StripAction = "show" | "reconnect" | "retry" | "copy" | "leave-branch" | "continue";

export interface StripLine {
  tone: "plain" | "running" | "waiting" | "failed" | "lost";
  text: string;
  actions: StripAction[];
}

export interface StripState {
  online: boolean;
  connection: Connection;
  running: boolean;
  /** Seconds since the run was seen to start. */
  seconds: number;
  tools: number;
  /** The tool at work, if one is. */
  at: string | undefined;
  waiting: number;
  error: string | undefined;
  /** Nodes are due: the last run was stopped or met a breakpoint, or the state was written. */
  unfinished: boolean;
  branch: { index: number; of: number } | undefined;
  now: number;
}

/** The first of these that holds: connection, run, decision, failure, branch, quiet. */
export function stripLine(state: StripState): StripLine {
  const { connection, now } = state;
  if (!state.online)
    return { tone: "lost", text: "You are offline. What you write is sent when you are online again.", actions: [] };
  if (connection.lostAt !== undefined && now - connection.lostAt > QUIET_MS) {
    const wait = Math.max(0, Math.ceil(((connection.nextTryAt ?? now) - now) / 1000));
    const goesOn = state.running ? " The run continues on the server." : "";
    const next = wait > 0 ? `Retrying in ${wait} s (attempt ${connection.attempt ?? 1}).` : "Connecting.";
    return { tone: "lost", text: `Connection lost. ${next}${goesOn}`, actions: ["reconnect"] };
  }
  if (connection.backAt !== undefined && now - connection.backAt < 3_000)
    return { tone: "running", text: "Connected.", actions: [] };
  if (state.running) {
    const tools = state.tools === 0 ? "" : ` · ${quantityText(state.tools, "tool")}`;
    const at = state.at === undefined ? "" : ` · ${state.at}`;
    return { tone: "running", text: `Running${at} · ${secondsText(state.seconds)}${tools}`, actions: [] };
  }
  if (state.waiting > 0) {
    const many = quantityText(state.waiting, "decision");
    return { tone: "waiting", text: `Waiting for you · ${many}`, actions: ["show"] };
  }
  if (state.error !== undefined)
    // The log has the message, at the place where the run failed.
    return { tone: "failed", text: "The last run failed", actions: ["retry", "copy"] };
  if (state.branch)
    return {
      tone: "plain",
      text: `Branch ${state.branch.index + 1} of ${state.branch.of}. A new message continues this branch.`,
      actions: ["leave-branch"],
    };
  if (state.unfinished) return { tone: "plain", text: "The graph has not finished", actions: ["continue"] };
  return { tone: "plain", text: "", actions: [] };
}
