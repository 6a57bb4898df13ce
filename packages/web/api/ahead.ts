/** Answers that were requested before the code that needs them was loaded. Each is used once, and only while it is new. */

/** Milliseconds since the request. */
const MOST_AGE = 10_000;

const answers = new Map<string, { answer: Promise<unknown>; at: number }>();

/** Whether an answer waits under this key. */
export function isAhead(key: string): boolean {
  const kept = answers.get(key);
  return kept !== undefined && Date.now() - kept.at <= MOST_AGE;
}

/** Keeps an answer for the next `takeAhead`. A failure that is not taken yet is not kept: the request is made again. */
export function keepAhead(key: string, answer: Promise<unknown>): void {
  const kept = { answer, at: Date.now() };
  answers.set(key, kept);
  answer.catch(() => answers.get(key) === kept && answers.delete(key));
}

/** The answer under this key, which is removed. */
export function takeAhead(key: string): Promise<unknown> | undefined {
  const answer = isAhead(key) ? answers.get(key)?.answer : undefined;
  answers.delete(key);
  return answer;
}
