/** The application as it is without a configuration, with the demo graphs registered. */
import "../../examples/demo/worker.ts";
import { createApp } from "../../src/app.ts";
import { readSettings } from "../../src/config.ts";

export const app = createApp(readSettings({}));
