import { endOverlap, rotateSecret } from "../services/app-secrets.ts";
import { type AppSummary, deleteApp, type IssuedApp, issueApp, issueAppSchema, listApps } from "../services/apps.ts";
import { pageQuerySchema } from "../services/page.ts";
import { endOverlapSchema, rotationSchema } from "../services/rotation.ts";
import { adminCall } from "./call.ts";
import type { AdminContext } from "./env.ts";
import { shownPage } from "./page.ts";
import { rotationOf, shownEndedOverlap, shownRotated } from "./rotation.ts";

const appidOf = (c: AdminContext): string => c.req.param("appid") ?? "";

const shownIssuedApp = ({ appid, secret, name, version }: IssuedApp) => ({ appid, secret, name, version });

const shownApp = ({ appid, name, version, previousExpiresAt, revokedAt, createdAt }: AppSummary) => ({
  appid,
  name,
  version,
  previous_expires_at: previousExpiresAt,
  revoked_at: revokedAt,
  created_at: createdAt,
});

export const appCalls = [
  adminCall(
    {
      id: "issueApp",
      method: "post",
      path: "/sites/:site_id/apps",
      role: "operator",
      scope: "site",
      audit: ["app.routed", "app.issued", "app.imported"],
      body: issueAppSchema,
    },
    async (c, { site, body }) => c.json(shownIssuedApp(await issueApp(c.var.ctx, { site, ...body })), 201),
  ),

  adminCall(
    {
      id: "listApps",
      method: "get",
      path: "/sites/:site_id/apps",
      role: "viewer",
      scope: "site",
      audit: [],
      query: pageQuerySchema,
    },
    async (c, { site, query }) => c.json(shownPage(await listApps(c.var.ctx, { site, ...query }), shownApp)),
  ),

  adminCall(
    {
      id: "rotateSecret",
      method: "post",
      path: "/apps/:appid/rotate",
      role: "operator",
      scope: "app",
      audit: ["app.rotated"],
      body: rotationSchema,
      bodyOptional: true,
    },
    async (c, { body }) => {
      const appid = appidOf(c);
      return c.json({ appid, ...shownRotated(await rotateSecret(c.var.ctx, { appid, ...rotationOf(body) })) });
    },
  ),

  adminCall(
    {
      id: "endOverlap",
      method: "post",
      path: "/apps/:appid/end-overlap",
      role: "operator",
      scope: "app",
      audit: ["app.overlap_ended"],
      body: endOverlapSchema,
      bodyOptional: true,
    },
    async (c, { body: { expected_version: expectedVersion } }) =>
      c.json(shownEndedOverlap(await endOverlap(c.var.ctx, { appid: appidOf(c), expectedVersion }))),
  ),

  adminCall(
    {
      id: "revokeApp",
      method: "delete",
      path: "/apps/:appid",
      role: "operator",
      scope: "app",
      audit: ["app.revoked", "app.released"],
    },
    async (c) => {
      await deleteApp(c.var.ctx, { appid: appidOf(c) });
      return c.body(null, 204);
    },
  ),
];
