import { b, open } from "./.tmp-shot.mjs";
const p = await open("/");
p.on("response", (r) => {
  if (r.url().includes("/threads/"))
    console.log(
      r.status(),
      r.request().method(),
      r
        .url()
        .replace(/.*9471/, "")
        .slice(0, 120),
      (r.request().postData() ?? "").slice(0, 150),
    );
});
p.on("request", (r) => r.url().includes("stream/events") && console.log("REQ", r.postData()));
p.on("requestfailed", (r) => console.log("FAILED", r.url(), r.failure()?.errorText));
await p.locator("#composer").fill("What is 17 * 24?");
await p.keyboard.press("Enter");
await p.waitForTimeout(4000);
await p.screenshot({ path: "/tmp/s1.png" });
console.log(p.url(), (await p.locator("main").innerText()).slice(0, 600));
await b.close();
