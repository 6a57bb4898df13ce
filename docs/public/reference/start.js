// Shows /openapi.json of this server. Nothing is loaded from, or sent to, another origin.
import { nameControls } from "./names.js";
import "./viewer.js";

nameControls(document.body);
globalThis.Scalar.createApiReference("#reference", {
  url: "/openapi.json",
  agent: { disabled: true },
  mcp: { disabled: true },
  telemetry: false,
  withDefaultFonts: false,
  showDeveloperTools: "never",
  hideClientButton: true,
  persistAuth: false,
  defaultOpenAllTags: false,
  documentDownloadType: "direct",
});
