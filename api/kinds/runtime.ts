import { type Static, Type } from "@sinclair/typebox";
import type { Resource } from "../meta.ts";
import {
  AtomicList,
  Conditions,
  Duration,
  Enum,
  MapOf,
  ObjectName,
  ObservedGeneration,
  Opaque,
  patterns,
  Quantity,
} from "../schema.ts";

/** The volume sources of core/v1 that a workspace may use; their bodies belong to Kubernetes. */
export const workspaceVolumeSources = [
  "emptyDir",
  "persistentVolumeClaim",
  "ephemeral",
  "hostPath",
  "nfs",
  "csi",
  "iscsi",
  "fc",
  "cephfs",
  "rbd",
  "glusterfs",
  "azureDisk",
  "azureFile",
  "awsElasticBlockStore",
  "gcePersistentDisk",
  "cinder",
  "vsphereVolume",
  "portworxVolume",
  "scaleIO",
  "storageos",
  "quobyte",
  "photonPersistentDisk",
  "flexVolume",
  "flocker",
] as const;

const oneAtMost = workspaceVolumeSources.map((name) => `(has(self.${name}) ? 1 : 0)`).join(" + ");

const volumeSource = (name: string) => Type.Optional(Opaque({ description: `core/v1 VolumeSource ${name}.` }));

const Workspace = Type.Object(
  Object.fromEntries(workspaceVolumeSources.map((name) => [name, volumeSource(name)])) as Record<
    (typeof workspaceVolumeSources)[number],
    ReturnType<typeof volumeSource>
  >,
  {
    description: "Volume mounted at /workspace: the members of a core/v1 VolumeSource, at most one; default emptyDir.",
    "x-kubernetes-validations": [{ rule: `${oneAtMost} <= 1`, message: "at most one volume source may be set" }],
  },
);

const ArtifactStore = Type.Object(
  {
    driver: Enum(["Filesystem", "S3"], { description: "The kind of store." }),
    filesystem: Type.Optional(
      Type.Object(
        { volumeClaimName: ObjectName("Claim that holds the artifacts; shared by Runtimes that exchange them.") },
        { description: "A directory on a volume." },
      ),
    ),
    s3: Type.Optional(
      Type.Object(
        {
          bucket: Type.String({ description: "Bucket.", minLength: 1, maxLength: 255, pattern: "^[^/]+$" }),
          prefix: Type.Optional(Type.String({ description: "Prefix of all keys.", maxLength: 1024 })),
          region: Type.Optional(Type.String({ description: "Region.", maxLength: 128 })),
          endpoint: Type.Optional(Type.String({ description: "Address of a compatible server.", maxLength: 2048 })),
          forcePathStyle: Type.Optional(Type.Boolean({ description: "Bucket in the path, not in the host name." })),
          credentialsSecretName: Type.Optional(ObjectName("Secret with the credentials; mounted into the agent only.")),
          uploadPartSize: Type.Optional(
            Type.Integer({ description: "Bytes of one part.", minimum: 5242880, format: "int64" }),
          ),
          uploadConcurrency: Type.Optional(Type.Integer({ description: "Parts at a time.", minimum: 1, maximum: 64 })),
        },
        { description: "A bucket." },
      ),
    ),
  },
  {
    description: "Where artifacts are kept. Runtimes that exchange artifacts must name the same store.",
    "x-kubernetes-validations": [
      {
        rule: "self.driver == 'Filesystem' ? (has(self.filesystem) && !has(self.s3)) : (has(self.s3) && !has(self.filesystem))",
        message: "exactly the member that driver names must be set",
      },
    ],
  },
);
export type ArtifactStoreSpec = Static<typeof ArtifactStore>;

const Template = Type.Object(
  {
    metadata: Type.Optional(Opaque({ description: "Labels and annotations of the Pods." })),
    spec: Type.Object(
      {
        containers: Type.Array(
          Type.Object(
            {
              name: Type.String({
                description: "Container name; the first is `runtime`.",
                minLength: 1,
                maxLength: 63,
              }),
              image: Type.Optional(
                Type.String({ description: "Image of the container.", minLength: 1, maxLength: 2048 }),
              ),
            },
            { "x-kubernetes-preserve-unknown-fields": true },
          ),
          { description: "Containers; the first is named `runtime`.", minItems: 1, maxItems: 16 },
        ),
      },
      { description: "core/v1 PodSpec.", "x-kubernetes-preserve-unknown-fields": true },
    ),
  },
  { description: "core/v1 PodTemplateSpec of the Pods of the pool.", "x-kubernetes-preserve-unknown-fields": true },
);

const NameList = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 253, pattern: patterns.subdomain }), {
    description,
    maxItems: 32,
    "x-kubernetes-list-type": "set",
  });

export const RuntimeSpec = Type.Object(
  {
    template: Template,
    server: Type.Optional(
      Type.Object(
        {
          type: Type.Optional(
            Enum(["Injected", "Custom"], {
              description:
                "Injected puts our executor into the image; Custom images serve the gRPC contract themselves.",
              default: "Injected",
            }),
          ),
          interpreter: Type.Optional(
            Enum(["bash", "python", "node"], { description: "Program for scripts without `#!`; default bash." }),
          ),
          command: Type.Optional(
            AtomicList(Type.String({ minLength: 1, maxLength: 4096 }), {
              description: "Instead of interpreter: the path of the script is appended to these arguments.",
              minItems: 1,
              maxItems: 32,
            }),
          ),
        },
        {
          description: "How scripts are started.",
          default: { type: "Injected" },
          "x-kubernetes-validations": [
            {
              rule: "!(has(self.interpreter) && has(self.command))",
              message: "interpreter and command exclude each other",
            },
          ],
        },
      ),
    ),
    replicas: Type.Optional(
      Type.Integer({ description: "Warm Pods.", minimum: 0, maximum: 1000, default: 1, format: "int32" }),
    ),
    capacity: Type.Optional(
      Type.Object(
        {
          resources: Type.Optional(
            MapOf(Quantity(), { description: "Logical capacity of each Pod; default `runs: 2`.", maxProperties: 16 }),
          ),
        },
        { description: "What one Pod can hold." },
      ),
    ),
    workspace: Type.Optional(Workspace),
    artifactStore: Type.Optional(ArtifactStore),
    secrets: Type.Optional(NameList("Secrets that Runs may reference; mounted into the agent only.")),
    configMaps: Type.Optional(NameList("ConfigMaps that Runs may reference; mounted into the agent only.")),
    drain: Type.Optional(
      Type.Object(
        { timeout: Type.Optional(Duration("Longest time that a Pod being replaced keeps its work; default 5m.")) },
        { description: "How Pods are replaced." },
      ),
    ),
  },
  { description: "A pool of warm Pods." },
);
export type RuntimeSpec = Static<typeof RuntimeSpec>;

export const RuntimeStatus = Type.Object(
  {
    observedGeneration: ObservedGeneration(),
    replicas: Type.Optional(Type.Integer({ description: "Pods of the pool." })),
    readyReplicas: Type.Optional(Type.Integer({ description: "Pods that take Runs." })),
    activeRuns: Type.Optional(Type.Integer({ description: "Runs on the Pods now." })),
    selector: Type.Optional(
      Type.String({ description: "Label selector of the Pods (scale subresource).", maxLength: 1024 }),
    ),
    conditions: Type.Optional(Conditions()),
  },
  { description: "State of the pool." },
);
export type RuntimeStatus = Static<typeof RuntimeStatus>;

export interface Runtime extends Resource<RuntimeSpec, RuntimeStatus> {}
