/** The stream of a thread, as the page uses it. */
import type { AnyStream } from "@langchain/react";
import type { RawMessage } from "../../api/types.ts";
import type { NewestRun } from "./transport.ts";
import type { LiveCall } from "../turn/turns.ts";

/** The part of the stream that the page uses, with its client or without. */
export type Stream = Pick<
  AnyStream,
  | "messages"
  | "toolCalls"
  | "subagents"
  | "isLoading"
  | "error"
  | "threadId"
  | "submit"
  | "respond"
  | "respondAll"
  | "stop"
>;

/** The stream with its client. Parts of the stream are read from it. */
export type Connected = AnyStream;

export interface AgentOptions {
  assistantId: string;
  threadId: string | undefined;
  /** The newest run of the thread when it was opened. */
  newest: NewestRun;
  onThreadId: (threadId: string) => void;
  onCreated: () => void;
}

/** The stream's messages as plain data: class instances have the same fields as their JSON. */
export const liveMessages = (stream: Stream) => stream.messages as unknown as RawMessage[];

export function collectLiveCalls(calls: Stream["toolCalls"]): Map<string, LiveCall> {
  return new Map(calls.map((call) => [call.callId, { status: call.status, output: call.output, error: call.error }]));
}
