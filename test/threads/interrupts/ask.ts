/** Threads that wait for an answer, and links to give it. */
import { expect } from "vitest";
import { get, newThread } from "../client.ts";
import { type Caller, send } from "../../support/caller.ts";

export type Json = Record<string, unknown>;
export interface Question {
  id: string;
  value: unknown;
}
export interface Link {
  link_id: string;
  url: string;
  /** The path of the link. */
  path: string;
  expires_at: string;
}

export async function listQuestions(caller: Caller, thread: string): Promise<Question[]> {
  const { interrupts } = await get<{ interrupts: Record<string, Question[]> }>(caller, `/threads/${thread}`);
  return Object.values(interrupts).flat();
}

/** Runs the graph until it asks. */
export async function ask(caller: Caller, assistant_id: string, input: Json = { said: [] }, more: Json = {}) {
  const thread = await newThread(caller);
  const body = { assistant_id, input, ...more };
  await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).text();
  const [question] = await listQuestions(caller, thread);
  return { thread, question: question! };
}

export async function mailTo(caller: Caller, ...to: string[]) {
  const content = `Write to ${to.join(" and ")} that it is green`;
  return ask(caller, "approval", { messages: [{ role: "user", content }] });
}

export const toLinksPath = (thread: string, { id }: Question) => `/threads/${thread}/interrupts/${id}/links`;

export async function link(caller: Caller, thread: string, question: Question, body: Json = {}): Promise<Link> {
  const answer = await caller.fetch(toLinksPath(thread, question), { body });
  const made = await answer.json<Link>();
  expect([answer.status, made]).toEqual([200, expect.objectContaining({ link_id: expect.any(String) })]);
  return { ...made, path: new URL(made.url).pathname };
}

/** Links are limited by address, and the files of one isolate would share one. */
const anyAddress = () => ({ "cf-connecting-ip": crypto.randomUUID() });

/** Answers by the link, as a program does. */
export const give = async (path: string, answer: unknown) => send(path, { body: { answer }, headers: anyAddress() });

/** Submits the form of the link's page. */
export const submit = async (path: string, fields: Record<string, string>) =>
  send(path, {
    body: new URLSearchParams(fields).toString(),
    headers: { ...anyAddress(), "content-type": "application/x-www-form-urlencoded", accept: "text/html" },
  });

export const look = async (path: string) => send(path, { headers: { ...anyAddress(), accept: "text/html" } });

/** The values that the thread has at its end. */
export async function waitForEnd(caller: Caller, thread: string): Promise<Json> {
  await expect
    .poll(() => get<Json>(caller, `/threads/${thread}`), { timeout: 10_000 })
    .toMatchObject({ status: "idle" });
  return (await get<{ values: Json }>(caller, `/threads/${thread}`)).values;
}
