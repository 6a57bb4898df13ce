import { Problem } from "../../../lib/problem.ts";

const ATTEMPTS = 5;

/**
 * Carries out a change that reads examples and writes a version. It is repeated when another request changed one of the
 * examples in between, so that neither change is lost.
 * @throws Problem 409 after five attempts
 */
export async function whenUnchanged<T>(change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof Problem && error.status === 409) || attempt === ATTEMPTS) throw error;
    }
  }
}
