/** Routes of answers by links, and of alerts, for routes.ts. */
import type { Scope } from "../../src/http/principal.ts";

export const ANSWER_ROUTES: Record<string, Scope | "public"> = {
  "GET /api/v1/answers/:token": "public",
  "POST /api/v1/answers/:token": "public",
  "GET /threads/:thread_id/interrupts/:interrupt_id/links": "read",
  "POST /threads/:thread_id/interrupts/:interrupt_id/links": "write",
  "DELETE /threads/:thread_id/interrupts/:interrupt_id/links/:link_id": "write",
  "GET /api/v1/alerts": "read",
  "POST /api/v1/alerts": "write",
  "GET /api/v1/alerts/:alert_id": "read",
  "PUT /api/v1/alerts/:alert_id": "write",
  "DELETE /api/v1/alerts/:alert_id": "write",
  "GET /api/v1/alerts/:alert_id/history": "read",
  "POST /api/v1/alerts/:alert_id/test": "write",
  "POST /api/v1/alerts/:alert_id/history/:change_id/resend": "write",
};
