import { type Static, Type } from "@sinclair/typebox";
import { Enum, ObjectName, RelativePath, Time } from "../schema.ts";

/** Where the bytes of an artifact are: coordinates, not an authorization. */
export const ArtifactRef = Type.Object(
  {
    name: Type.String({ description: "File name of the artifact.", minLength: 1, maxLength: 255 }),
    driver: Enum(["Filesystem", "S3"], { description: "The kind of store." }),
    type: Enum(["File", "Directory"], { description: "Directory artifacts are stored as tar.gz." }),
    location: Type.Object(
      {
        filesystem: Type.Optional(
          Type.Object(
            {
              path: RelativePath("Path below the root of the store."),
              volumeClaimName: Type.Optional(ObjectName("The claim that holds the store.")),
            },
            { description: "Coordinates in a filesystem store." },
          ),
        ),
        s3: Type.Optional(
          Type.Object(
            {
              bucket: Type.String({ description: "Bucket.", minLength: 1, maxLength: 255 }),
              key: Type.String({ description: "Key of the object.", minLength: 1, maxLength: 4096 }),
            },
            { description: "Coordinates in an S3 store." },
          ),
        ),
      },
      {
        description: "Exactly one member, matching the driver.",
        "x-kubernetes-validations": [
          { rule: "has(self.filesystem) != has(self.s3)", message: "exactly one of filesystem and s3 must be set" },
        ],
      },
    ),
    sizeBytes: Type.Integer({ description: "Size in bytes.", minimum: 0, format: "int64" }),
    digest: Type.String({ description: "SHA-256 of the bytes.", maxLength: 71, pattern: "^sha256:[0-9a-f]{64}$" }),
    contentType: Type.Optional(Type.String({ description: "Media type.", maxLength: 255 })),
    createdAt: Type.Optional(Time("When it was stored.")),
  },
  {
    description: "A stored artifact.",
    "x-kubernetes-validations": [
      {
        rule: "self.driver == 'Filesystem' ? has(self.location.filesystem) : has(self.location.s3)",
        message: "location must match driver",
      },
    ],
  },
);
export type ArtifactRef = Static<typeof ArtifactRef>;
