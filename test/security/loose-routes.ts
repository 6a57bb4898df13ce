/** Routes that ignore a member which they do not know, and why that neither reads nor deletes more, by the path without its prefix. */

const MAKES = "It makes one thing, or one for each item";
const CHANGES = "It changes the thing that the path or an id in the body names";
const RUNS = "It starts or controls runs of what it names, as the Agent Server's clients do";
const TRACE = "Runs have members of newer SDKs";
const PROTOCOL = "The protocol lets peers ignore what they do not know";

export const LOOSE: Record<string, string> = {
  ...explainRoutes(
    MAKES,
    `POST /annotation-queues | POST /annotation-queues/:queue_id/runs/by-key | POST /platform/annotation-queues/:queue_id/items
    POST /assistants | POST /datasets | POST /datasets/comparative | POST /examples | POST /examples/bulk | POST /feedback
    POST /feedback/eager | POST /feedback/tokens | POST /feedback-configs | POST /repos | POST /commits/:owner/:repo | POST /sessions | POST /threads | POST /threads/:thread_id/copy
    PUT /store/items | POST /runs/crons | POST /threads/:thread_id/runs/crons`,
  ),
  ...explainRoutes(
    CHANGES,
    `PATCH /annotation-queues/:queue_id | PATCH /annotation-queues/:queue_id/runs/:item_id
    PATCH /platform/annotation-queues/:queue_id/items/:item_id | POST /annotation-queues/status/:item_id
    POST /platform/annotation-queues/items/:item_id/status | PATCH /datasets/:dataset_id | PATCH /examples/:example_id
    PATCH /examples/bulk | PATCH /platform/datasets/:dataset_id/examples/metadata | PUT /datasets/:dataset_id/splits
    PUT /datasets/:dataset_id/tags | PATCH /repos/:owner/:repo | PATCH /feedback-configs | PATCH /feedback/:feedback_id | PATCH /sessions/:session_id
    PATCH /assistants/:assistant_id | POST /assistants/:assistant_id/latest | PATCH /runs/crons/:cron_id | PATCH /threads/:thread_id
    PATCH /threads/:thread_id/state | POST /threads/:thread_id/state`,
  ),
  ...explainRoutes(
    RUNS,
    `POST /runs/stream | POST /runs/wait | POST /threads/:thread_id/runs | POST /threads/:thread_id/runs/stream | POST /threads/:thread_id/runs/wait
    POST /threads/:thread_id/runs/:run_id/cancel | POST /ui/:assistant_id | POST /threads/:thread_id/state/checkpoint`,
  ),
  ...explainRoutes(TRACE, "POST /runs | POST /runs/batch | PATCH /runs/:run_id | POST /otel/v1/traces"),
  ...explainRoutes(
    PROTOCOL,
    `POST /a2a/:assistant_id | POST /agui/:assistant_id | POST /agui/:assistant_id/connect | POST /mcp | POST /mcp/traces
    POST /threads/:thread_id/commands | POST /threads/:thread_id/stream | POST /threads/:thread_id/stream/events`,
  ),
  ...explainRoutes(
    "It reads no body",
    `POST /alerts/:alert_id/test | POST /alerts/:alert_id/history/:change_id/resend | POST /bulk-exports/destinations/:id/check | POST /datasets/:dataset_id/index/sync | POST /encryption-keys
    POST /internal/truncate`,
  ),
  ...explainRoutes("It reads nothing that is stored", "POST /runs/query/validate"),
};

function explainRoutes(why: string, routes: string): Record<string, string> {
  return Object.fromEntries(routes.split(/[|\n]/).map((route) => [route.trim(), why]));
}
