/** Makes the local runtime enforce what Cloudflare enforces, and local workerd does not, in this isolate. */
import { env } from "cloudflare:workers";
import { guardD1 } from "./d1.ts";
import { guardOutside } from "./outside.ts";
import { guardStreams } from "./streams.ts";

guardD1(env.DB);
guardOutside(env);
guardStreams();
