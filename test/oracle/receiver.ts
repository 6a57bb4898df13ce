/** The receiver of the oracle's webhooks. */
import { vi } from "vitest";

/** By the run: the status that each delivery tells. */
const deliveries = new Map<string, Map<string, string>>();

/** The status in each delivery that has come for a run. */
export const listHooks = (runId: string): string[] => [...(deliveries.get(runId)?.values() ?? [])];

interface Hook {
  run_id?: string;
  delivery_id?: string;
  status: string;
}

/** Takes the place of the internet. */
export function receive(): () => void {
  vi.stubGlobal("fetch", async (_: string, { body }: RequestInit) => {
    const { run_id, delivery_id, status } = JSON.parse(body as string) as Hook;
    if (run_id && delivery_id)
      deliveries.set(run_id, (deliveries.get(run_id) ?? new Map<string, string>()).set(delivery_id, status));
    return new Response();
  });
  return () => vi.unstubAllGlobals();
}
