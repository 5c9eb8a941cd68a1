import { expect, test } from "vitest";
import { refusal, setup, take, widget, widgets } from "./testing/setup.ts";

test("an object lives from create to delete with the versions, times and generations of a real server", async () => {
  const { client, clock } = setup();
  const api = client.of(widgets);
  const created = await api.create(widget("a", { size: 1 }));
  expect(created).toMatchObject({
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name: "a", namespace: "default", generation: 1, creationTimestamp: "2026-01-01T00:00:00Z" },
  });
  expect(created.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);

  clock.advance(5000);
  const updated = await api.update({ ...created, spec: { size: 2 } });
  expect(updated.metadata).toMatchObject({ generation: 2, uid: created.metadata.uid });
  expect(Number(updated.metadata.resourceVersion)).toBeGreaterThan(Number(created.metadata.resourceVersion));

  const patched = await api.patch({ name: "a", namespace: "default" }, { spec: { color: "red" } });
  expect(patched).toMatchObject({ spec: { size: 2, color: "red" }, metadata: { generation: 3 } });

  const status = await api.patch(
    { name: "a", namespace: "default" },
    { status: { phase: "Ready" }, spec: { size: 9 } },
    { subresource: "status" },
  );
  expect(status).toMatchObject({ spec: { size: 2 }, status: { phase: "Ready" }, metadata: { generation: 3 } });

  await api.delete({ name: "a", namespace: "default" });
  const error = await refusal(api.get({ name: "a", namespace: "default" }));
  expect(error.message).toBe('widgets.example.com "a" not found');
  expect(error.status).toMatchObject({
    code: 404,
    reason: "NotFound",
    details: { name: "a", group: "example.com", kind: "widgets" },
  });
});

test("a watch sees what exists, then every change in order", async () => {
  const { client } = setup();
  const api = client.of(widgets);
  await api.create(widget("a"));
  const events = await api.watch({ namespace: "default" });
  const b = await api.create(widget("b"));
  await api.update({ ...b, spec: { size: 1 } });
  await api.delete({ name: "a", namespace: "default" });
  const seen = await take(events, 4);
  expect(
    seen.map((event) => `${event.type} ${"name" in event.object.metadata ? event.object.metadata.name : ""}`),
  ).toEqual(["ADDED a", "ADDED b", "MODIFIED b", "DELETED a"]);
});
