{{/* What every object is labelled with; .part names the program. Called with (dict "root" $ "part" "page"). */}}
{{- define "rollcall.labels" -}}
{{ include "rollcall.chosen" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{/* The labels by which a Service or a Deployment chooses its pods. */}}
{{- define "rollcall.chosen" -}}
app.kubernetes.io/name: rollcall
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "rollcall.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The metadata of a pod's template: a changed setting makes new pods. .port: of /metrics, 0 where there are none. */}}
{{- define "rollcall.podMetadata" -}}
labels: {{- include "rollcall.labels" . | nindent 2 }}
annotations:
  rollcall/settings: {{ .root.Values.settings | toJson | sha256sum | trunc 16 }}
  {{- if and .port (not .root.Values.serviceMonitor.enabled) }}
  prometheus.io/scrape: "true"
  prometheus.io/port: {{ .port | quote }}
  {{- end }}
{{- end }}

{{/* What the pods of every program share: who they run as, and where they run. */}}
{{- define "rollcall.pod" -}}
serviceAccountName: {{ .Release.Name }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65534
  runAsGroup: 65534
  fsGroup: 65534
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What every container shares. */}}
{{- define "rollcall.container" -}}
image: {{ include "rollcall.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- with .Values.credentialsSecret }}
envFrom:
  - secretRef: {name: {{ . }}}
{{- end }}
{{- end }}

{{/* The folders of a container; .secret names the Secret with users and TLS, empty for none. */}}
{{- define "rollcall.mounts" -}}
- {name: settings, mountPath: /etc/rollcall}
- {name: work, mountPath: /var/lib/rollcall}
- {name: temporary, mountPath: /tmp}
{{- if .secret }}
- {name: secret, mountPath: /etc/rollcall-secret, readOnly: true}
{{- end }}
{{- end }}

{{- define "rollcall.volumes" -}}
- name: settings
  configMap: {name: {{ .root.Release.Name }}}
- name: work
  emptyDir: {}
- name: temporary
  emptyDir: {}
{{- if .secret }}
- name: secret
  secret: {secretName: {{ .secret }}}
{{- end }}
{{- end }}

{{/* Probes of a program that answers /health on its port `metrics`. Spark and a large home take a while to start. */}}
{{- define "rollcall.healthProbes" -}}
startupProbe:
  httpGet: {path: /health, port: metrics}
  periodSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /health, port: metrics}
  periodSeconds: 20
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}

{{/* The lines of a settings file. The service's names are added to those under which metrics are served. */}}
{{- define "rollcall.settings" -}}
{{- $service := printf "%s-metrics" .Release.Name }}
{{- $inside := printf "%s.%s" $service .Release.Namespace }}
{{- $names := list $service $inside (printf "%s.svc" $inside) (printf "%s.svc.cluster.local" $inside) }}
{{- $more := get .Values.settings "rollcall.metrics.hosts" | splitList "," | compact }}
{{- $hosts := dict "rollcall.metrics.hosts" (concat $names $more | join ",") }}
{{- range $key, $value := merge $hosts .Values.settings }}
{{ $key }}={{ $value }}
{{- end }}
{{- end }}
