/** Before each file of tests that run in Node against a real server. */
import { setDefaultAutoSelectFamily } from "node:net";
import { watchFetch } from "./answers/fetch.ts";
import { failOnFaults } from "./answers/watch.ts";

watchFetch();
failOnFaults();

// While a server restarts, Node's parallel connection attempts end in EINVAL; the servers are all on 127.0.0.1.
setDefaultAutoSelectFamily(false);
process.env.WRANGLER_SEND_METRICS = "false";
process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";
