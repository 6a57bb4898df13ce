/** Requests that change a thread other than by a new message. */
import type { Answer } from "../record.ts";
import { noteRun, type KnownRun, type Step } from "../world.ts";
import { readState } from "./read.ts";
import { command, newText, startAndStream, startAndWait, startInBackground, type Work } from "./start.ts";

/** Adds a message to the state, as the graph's node would. */
export async function updateState(step: Step): Promise<void> {
  const { world, place, client } = step;
  const text = newText("T", step);
  await world.recorder.record(client, "update", { thread: place.id, text }, async () => {
    const values = { messages: [{ role: "user", content: text }] };
    await world.recorder.sdk.threads.updateState(place.id, { values, asNode: "echo" });
  });
}

export async function cancelRun({ world, place, client, dice }: Step, { id }: KnownRun): Promise<void> {
  const action = dice.chance(0.7) ? "interrupt" : "rollback";
  const wait = dice.chance(0.5);
  await world.recorder.record(client, "cancel", { thread: place.id, run: id, action, wait }, async () => {
    await world.recorder.sdk.runs.cancel(place.id, id, wait, action);
  });
}

export async function deleteRun({ world, place, client }: Step, { id }: KnownRun): Promise<void> {
  await world.recorder.record(client, "delete run", { thread: place.id, run: id }, async () => {
    await world.recorder.sdk.runs.delete(place.id, id);
  });
}

/** Copies the thread and reads the copy. */
export async function copyThread(step: Step): Promise<void> {
  const { world, place, client } = step;
  const { copy } = await world.recorder.record(client, "copy", { thread: place.id }, async (operation) => {
    // The types of the SDK do not show the answer.
    const thread = (await world.recorder.sdk.threads.copy(place.id)) as unknown as { thread_id: string };
    operation.copy = thread.thread_id;
  });
  if (!copy) return;
  world.copies.push(copy);
  await readState(step, copy);
}

/** Answers a question that waits, sometimes with two answers at the same time. Looks for the question first. */
export async function answerQuestion(step: Step): Promise<void> {
  const { dice } = step;
  const { state } = await readState(step);
  const question = state?.interrupts.at(-1);
  if (!question) return;
  const ways = [startInBackground, startAndWait, startAndStream, respond];
  const count = dice.chance(0.3) ? 2 : 1;
  const answers = Array.from({ length: count }, (_, index) => {
    const way = dice.pick(step.world.features.protocol ? ways : ways.slice(0, -1));
    const text = `${newText("A", step)}x${index}`;
    return { way, work: prepareAnswer(step, question, text) };
  });
  await Promise.all(answers.map(({ way, work }) => way(step, work)));
}

function prepareAnswer({ world, dice }: Step, { id, about }: { id: string; about: string }, text: string): Work {
  const strict = world.features.strictResume && dice.chance(0.7);
  const type = dice.chance(0.25) ? "approve" : "reject";
  const answer: Answer = { interrupt: id, about, type, strict };
  const response = { decisions: [{ type, ...(type === "reject" && { message: text }) }] };
  const resume = strict ? { [id]: response } : response;
  return { text, answer, strategy: "enqueue", body: { command: { resume }, ...(strict && { strict_resume: true }) } };
}

/** `input.respond` of the streaming protocol, which always names the interrupt. */
async function respond(step: Step, { text, answer }: Work): Promise<void> {
  if (!answer) return;
  const { world, place, client, number } = step;
  const response = { decisions: [{ type: answer.type, ...(answer.type === "reject" && { message: text }) }] };
  const given = {
    thread: place.id,
    via: "command" as const,
    role: place.role,
    text,
    answer: { ...answer, strict: true },
    strategy: "enqueue" as const,
  };
  const { run } = await world.recorder.record(client, "start", given, async () => {
    const id = client * 1_000_000 + number * 10 + Number(text.at(-1));
    const params = { namespace: [], interrupt_id: answer.interrupt, response, metadata: { text } };
    await command(step, { id, method: "input.respond", params });
  });
  if (run) noteRun(place, run, false);
}
