/** What people and programs write about a run is masked like the run. */
import type { StoredFeedback } from "../types.ts";
import type { Masker } from "./masker.ts";

/** The feedback with its texts masked. Its key and ids stay: it is found by them. */
export function maskFeedback(masker: Masker | undefined, feedback: StoredFeedback): StoredFeedback {
  if (!masker) return feedback;
  const { value, comment, correction, feedback_source, extra } = feedback;
  const texts = { value, comment, correction, feedback_source, extra };
  const masked = masker.field("feedback", texts) as typeof texts;
  const { type, user_id } = feedback_source;
  return { ...feedback, ...masked, feedback_source: { ...masked.feedback_source, type, user_id } };
}
