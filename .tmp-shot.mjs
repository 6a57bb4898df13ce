import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
export const K = readFileSync("/tmp/chat-server.log", "utf8").match(/weir_key_\S+/)[0];
export const U = process.env.U ?? "http://127.0.0.1:9471";
export const b = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
export async function open(path, opts = {}) {
  const c = await b.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", ...opts });
  await c.addInitScript((v) => sessionStorage.setItem("weir.session", v), JSON.stringify({ kind: "key", secret: K }));
  const p = await c.newPage();
  p.on("console", (m) => {
    if (m.type() === "error") console.log("console", m.text().slice(0, 400));
  });
  p.on("pageerror", (e) => console.log("pageerror", e.message.slice(0, 600)));
  await p.goto(U + path);
  return p;
}
