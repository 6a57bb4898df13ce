/** People: `/api/v1/members`, `/api/v1/invitations`, `/api/v1/me`. */
import { Hono } from "hono";
import type { App } from "../http/context.ts";
import { invitations } from "./invitations-routes.ts";
import { me } from "./me-routes.ts";
import { members } from "../access/members/routes.ts";

export const people = new Hono<App>().route("/members", members).route("/invitations", invitations).route("/me", me);
