/** Requests that start runs: in the background, streamed, waited for, and as commands. */
import type { Answer, Of, Start, Strategy } from "../record.ts";
import { HttpError } from "../recorder.ts";
import { toShown } from "../shown.ts";
import { noteRun, type Step } from "../world.ts";
import { follow, chooseModes } from "./follow.ts";

const INPUT = {
  echo: (text: string) => text,
  approval: (text: string) => `Write to ada@example.com that ${text}`,
  agent: (text: string) => `count to 6 (${text})`,
};

/** The run's part of a request, and how the checker calls it. */
export interface Work {
  text: string;
  body: Record<string, unknown>;
  answer?: Answer;
  strategy?: Strategy;
}

type Choice = Strategy | undefined;
/** Mostly in turn: a run that is always stopped shows little. */
const STRATEGIES: Choice[] = [
  ...Array.from({ length: 12 }, (): Choice => "enqueue"),
  "reject",
  "reject",
  "interrupt",
  "interrupt",
  "rollback",
];

export const newText = (letter: "T" | "A", { client, number }: Step): string => `${letter}${client}x${number}`;

/** A message that no other request has. */
export function newMessage(step: Step): Work {
  const text = newText("T", step);
  const strategy = step.dice.pick(STRATEGIES);
  return { text, strategy, body: { input: { messages: [{ role: "user", content: INPUT[step.place.role](text) }] } } };
}

interface Prepared {
  given: Omit<Start, "kind" | "client" | "at" | "until" | "outcome" | "detail">;
  body: Record<string, unknown>;
  resumable: boolean;
}

function prepare({ place, dice }: Step, { text, body, answer, strategy }: Work, via: Start["via"]): Prepared {
  const resumable = dice.chance(0.7);
  const delay = answer === undefined && dice.chance(0.05) ? 1 : undefined;
  return {
    resumable,
    given: {
      via,
      text,
      role: place.role,
      thread: place.id,
      ...(strategy && { strategy }),
      ...(answer && { answer }),
      ...(delay && { delay: delay * 1_000 }),
    },
    body: {
      ...body,
      assistant_id: place.assistant,
      metadata: { text },
      stream_mode: chooseModes(place.role),
      stream_resumable: resumable,
      multitask_strategy: strategy,
      after_seconds: delay,
    },
  };
}

/** A moment at which the client gives up, for a few requests: their outcome is unknown. */
const chooseSignal = ({ dice }: Step) => (dice.chance(0.05) ? AbortSignal.timeout(dice.int(1, 40)) : undefined);

interface RunAnswer {
  run_id: string;
}

const runIn = (response: Response): string | undefined =>
  /\/runs\/([\w-]+)/.exec(response.headers.get("content-location") ?? "")?.[1];

/** The body of a request as the SDK takes it: the same names in camel case. */
const payload = (body: Record<string, unknown>, signal: AbortSignal | undefined) => ({
  ...Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  ),
  ...(signal && { signal }),
});

export async function startInBackground(step: Step, work: Work): Promise<void> {
  const { given, body, resumable } = prepare(step, work, "background");
  const { world, place, client } = step;
  const { run } = await world.recorder.record(client, "start", given, async (operation) => {
    const { runs } = world.recorder.sdk;
    operation.run = (await runs.create(place.id, place.assistant, payload(body, chooseSignal(step)))).run_id;
  });
  if (run) noteRun(place, run, resumable);
}

export async function startAndWait(step: Step, work: Work): Promise<void> {
  const { given, body } = prepare(step, work, "wait");
  const { world, place, client } = step;
  const { run } = await world.recorder.record(client, "start", given, async (operation) => {
    const values = await world.recorder.sdk.runs.wait(place.id, place.assistant, {
      ...payload(body, chooseSignal(step)),
      raiseError: false,
      onRunCreated: ({ run_id }) => (operation.run = run_id),
    });
    operation.values = toShown(values);
  });
  // The SDK does not ask /wait for a stream that can be resumed.
  if (run) noteRun(place, run, false);
}

/** Starts a run and reads its stream, which is cut at random bytes and resumed. */
export async function startAndStream(step: Step, work: Work): Promise<void> {
  const { given, body, resumable } = prepare(step, work, "stream");
  const { world, place, client } = step;
  const stop = new AbortController();
  let stream: Response | undefined;
  const { run } = await world.recorder.record(client, "start", given, async (operation) => {
    stream = await world.recorder.send("POST", `/threads/${place.id}/runs/stream`, body, { signal: stop.signal });
    operation.run = runIn(stream);
  });
  if (!run || !stream) return stop.abort();
  noteRun(place, run, resumable);
  await follow(step, { id: run, resumable }, { response: stream, stop });
}

/** `run.start` of the streaming protocol. */
export async function startByCommand(step: Step, work: Work): Promise<void> {
  const { given, body } = prepare(step, work, "command");
  const { world, place, client, number } = step;
  const { assistant_id, input, metadata, multitask_strategy } = body;
  const params = { assistant_id, input, metadata, multitask_strategy };
  const { delay: _, ...now } = given;
  const { run } = await world.recorder.record(client, "start", now, async (operation) => {
    const id = client * 1_000_000 + number;
    operation.run = (await command<RunAnswer>(step, { id, method: "run.start", params })).run_id;
  });
  if (run) noteRun(place, run, false);
}

export async function command<T>({ world, place }: Step, body: object): Promise<T> {
  const answer = await world.recorder.send("POST", `/threads/${place.id}/commands`, body);
  const said = await answer.json<{ type: string; result: T; error: string; message: string }>();
  // The protocol answers refusals with 200.
  if (said.type !== "success")
    throw new HttpError(said.error === "unknown_error" ? 500 : 400, `${said.error}: ${said.message}`);
  return said.result;
}

interface Repeated {
  first: Of<"start">;
  again: Of<"start">;
}

/** The same request twice under one Idempotency-Key: at the same time, or one after the other. */
export async function startTwice(step: Step, work: Work): Promise<Repeated> {
  const { given, body, resumable } = prepare(step, work, "background");
  const { world, place, client, dice } = step;
  const key = `${world.mark} ${work.text}`;
  const startOnce = async () =>
    world.recorder.record(client, "start", { ...given, key }, async (operation) => {
      const headers = { "idempotency-key": key };
      const answer = await world.recorder.send("POST", `/threads/${place.id}/runs`, body, { headers });
      operation.run = (await answer.json<RunAnswer>()).run_id;
    });
  const [first, again] = dice.chance(0.5)
    ? await Promise.all([startOnce(), startOnce()])
    : [await startOnce(), await startOnce()];
  for (const { run } of [first, again]) if (run) noteRun(place, run, resumable);
  return { first, again };
}
