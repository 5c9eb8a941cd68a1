{{/* Name of the Secret that the webhook mounts. */}}
{{- define "kruntimes.webhook.secret" -}}
{{- if eq .Values.webhook.tls.source "secret" -}}
{{ required "webhook.tls.existingSecret is missing: name the kubernetes.io/tls Secret, or choose another webhook.tls.source" .Values.webhook.tls.existingSecret }}
{{- else -}}
{{ include "kruntimes.fullname" . }}-webhook-tls
{{- end -}}
{{- end -}}

{{/* Name of the Secret that the run-extension-api mounts. */}}
{{- define "kruntimes.extensionApi.secret" -}}
{{- if eq .Values.webhook.tls.source "secret" -}}
{{ required "runExtensionAPI.tls.existingSecret is missing: with webhook.tls.source=secret name its kubernetes.io/tls Secret, too, or set runExtensionAPI.enabled=false" .Values.runExtensionAPI.tls.existingSecret }}
{{- else -}}
{{ include "kruntimes.fullname" . }}-run-extension-api-tls
{{- end -}}
{{- end -}}

{{/*
Authority and certificates of the chart as JSON {ca, caKey, webhook: {cert, key}, run-extension-api: {cert, key}}: what the
cluster has, else new ones. The authority outlives the certificates, so that a new certificate is trusted at once by what
knows the authority. Made once for each rendering: certificates and caBundles have to fit.
*/}}
{{- define "kruntimes.chartTls" -}}
{{- if not (hasKey .Values "madeTls") -}}
{{- $_ := set .Values "madeTls" (include "kruntimes.makeTls" .) -}}
{{- end -}}
{{ .Values.madeTls }}
{{- end -}}

{{- define "kruntimes.makeTls" -}}
{{- $name := include "kruntimes.fullname" . -}}
{{- $namespace := .Release.Namespace -}}
{{- $days := int .Values.webhook.tls.validDays -}}
{{- $root := lookup "v1" "Secret" $namespace (printf "%s-ca" $name) -}}
{{- $kept := and $root (hasKey ($root.data | default dict) "tls.crt") -}}
{{- $ca := dict -}}
{{- if $kept -}}
{{- $ca = buildCustomCert (index $root.data "tls.crt") (index $root.data "tls.key") -}}
{{- else -}}
{{- $ca = genCA (printf "%s-ca" $name) $days -}}
{{- end -}}
{{- $made := dict "ca" $ca.Cert "caKey" $ca.Key -}}
{{- range $component := list "webhook" "run-extension-api" -}}
{{- $leaf := lookup "v1" "Secret" $namespace (printf "%s-%s-tls" $name $component) -}}
{{- if and $kept $leaf (hasKey ($leaf.data | default dict) "tls.crt") -}}
{{- $_ := set $made $component (dict "cert" (index $leaf.data "tls.crt" | b64dec) "key" (index $leaf.data "tls.key" | b64dec)) -}}
{{- else -}}
{{- $service := printf "%s-%s.%s.svc" $name $component $namespace -}}
{{- $cert := genSignedCert $service nil (list $service (printf "%s.cluster.local" $service)) $days $ca -}}
{{- $_ := set $made $component (dict "cert" $cert.Cert "key" $cert.Key) -}}
{{- end -}}
{{- end -}}
{{ toJson $made }}
{{- end -}}

{{/* The certificate that the chart has made for a component. Of a dict: root, component. */}}
{{- define "kruntimes.chartTlsSecret" -}}
{{- $tls := include "kruntimes.chartTls" .root | fromJson -}}
{{- $leaf := index $tls .component -}}
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata:
  name: {{ include "kruntimes.componentName" . }}-tls
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "kruntimes.labels" . | nindent 4 }}
data:
  ca.crt: {{ $tls.ca | b64enc }}
  tls.crt: {{ $leaf.cert | b64enc }}
  tls.key: {{ $leaf.key | b64enc }}
{{- end -}}

{{/* The issuer of the certificates under cert-manager, as YAML. */}}
{{- define "kruntimes.issuer" -}}
{{- with .Values.webhook.tls.issuerRef -}}
{{ toYaml . }}
{{- else -}}
name: {{ include "kruntimes.fullname" . }}-webhook
kind: Issuer
{{- end -}}
{{- end -}}

{{/* The request to cert-manager for the certificate of a component. Of a dict: root, component. */}}
{{- define "kruntimes.certificate" -}}
{{- $service := printf "%s.%s.svc" (include "kruntimes.componentName" .) .root.Release.Namespace -}}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ include "kruntimes.componentName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "kruntimes.labels" . | nindent 4 }}
spec:
  secretName: {{ include "kruntimes.componentName" . }}-tls
  dnsNames:
    - {{ $service }}
    - {{ $service }}.cluster.local
  privateKey: { algorithm: ECDSA, size: 256, rotationPolicy: Always }
  issuerRef:
    {{- include "kruntimes.issuer" .root | nindent 4 }}
{{- end -}}

{{/* The Service of a component that the API server calls. Of a dict: root, component, port (its name in the Pod). */}}
{{- define "kruntimes.calledService" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "kruntimes.componentName" . }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "kruntimes.labels" . | nindent 4 }}
spec:
  selector:
    {{- include "kruntimes.selector" . | nindent 4 }}
  ports:
    - { name: {{ .port }}, port: 443, targetPort: {{ .port }} }
{{- end -}}
