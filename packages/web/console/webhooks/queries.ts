/** The configuration of webhooks: the secrets that sign them, and crons whose runs send one. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import type { Cron } from "../../../../src/automation/crons/wire.ts";
import type { Secret } from "../../../../src/deliveries/wire.ts";

export type { Secret as WebhookSecret };

const PATH = "/api/v1/webhook-secrets";

export function useSecrets() {
  return useQuery({
    queryKey: ["webhook-secrets"],
    queryFn: ({ signal }) => call<Secret[]>("GET", PATH, undefined, signal),
  });
}

const again = () => queryClient.invalidateQueries({ queryKey: ["webhook-secrets"] });

/** Makes a secret. The others sign for `seconds` more. */
export async function rotate(seconds: number): Promise<Secret & { secret: string }> {
  const made = await call<Secret & { secret: string }>("POST", PATH, { overlap_seconds: seconds });
  await again();
  return made;
}

export async function deleteSecret(id: string): Promise<void> {
  await call("DELETE", `${PATH}/${id}`);
  await again();
}

export type HookedCron = Omit<Cron, "payload"> & { webhook: string };

const PAGE = 100;
/** The most crons that are looked at. */
const MOST = 1_000;

/** Crons with a webhook. The server has no filter for them, so all crons are read. */
export function useHookedCrons() {
  return useQuery({
    queryKey: ["webhook-crons"],
    queryFn: async ({ signal }) => {
      const found: HookedCron[] = [];
      for (let offset = 0; offset < MOST; offset += PAGE) {
        const page = await call<Cron[]>("POST", "/runs/crons/search", { limit: PAGE, offset }, signal);
        for (const { payload, ...cron } of page) {
          if (typeof payload.webhook === "string") found.push({ ...cron, webhook: payload.webhook });
        }
        if (page.length < PAGE) break;
      }
      return found;
    },
  });
}
