/** Converts interrupts to the parts of a message, and the answer to the value that the graph resumes with. */
import { isObject, type Json } from "../../lib/json.ts";
import { responsesById } from "../../threads/interrupts/waiting.ts";
import { joinText, type A2aPart } from "./types.ts";
import { invalidParams } from "./errors.ts";

interface PromptedInterrupt {
  id?: string;
  value?: unknown;
}

/** The question as text, if it has one. */
export function readWords(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!isObject(value)) return undefined;
  const requests = Array.isArray(value.action_requests) ? value.action_requests.filter((one) => isObject(one)) : [];
  const described = requests.map(({ description }) => description).filter((one) => typeof one === "string");
  const said = [value.question, value.message, value.prompt, value.description, described.join("\n")];
  return said.find((one): one is string => typeof one === "string" && one !== "");
}

/** For each question its words, and, unless they are all there is, its value with the id that answers can name. */
export function promptParts(questions: PromptedInterrupt[]): A2aPart[] {
  const parts = questions.flatMap(({ id, value }): A2aPart[] => {
    const text = readWords(value);
    const data = typeof value === "string" && questions.length === 1 ? [] : [{ data: { id, value } }];
    return [...(text === undefined ? [] : [{ text }]), ...data];
  });
  return parts.length > 0 ? parts : [{ text: "The agent has paused. Send a message to continue." }];
}

/**
 * What the waiting graph is resumed with, by the ids of the interrupts: the text, or the data. A data part `{resume: …}` says it
 * literally; as a list of `{id, value}` it answers several questions.
 */
export function toResume(parts: A2aPart[], waiting: PromptedInterrupt[]): Json {
  const data = parts.filter((part) => part.data !== undefined).map((part) => part.data);
  const given = data.find((one) => isObject(one) && "resume" in one) as { resume: unknown } | undefined;
  if (
    given &&
    Array.isArray(given.resume) &&
    given.resume.every((one) => isObject(one) && typeof one.id === "string")
  ) {
    const answers = given.resume as { id: string; value: unknown }[];
    const stranger = answers.find(({ id }) => !waiting.some((interrupt) => interrupt.id === id));
    if (stranger) throw invalidParams("A resume names a question that the task does not wait on.");
    return Object.fromEntries(answers.map(({ id, value }) => [id, value ?? null]));
  }
  const plain = given ? (given.resume ?? null) : data.length > 0 ? data[0] : joinText(parts);
  return responsesById(
    plain,
    waiting.flatMap(({ id }) => id ?? []),
  );
}

/** The ids of the questions that the message names as those that it answers. */
export function resumedIds(parts: A2aPart[]): string[] {
  const given = parts.flatMap(({ data }) => (isObject(data) && Array.isArray(data.resume) ? data.resume : []));
  return given.flatMap((one: unknown) => (isObject(one) && typeof one.id === "string" ? [one.id] : []));
}
