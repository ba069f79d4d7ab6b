# The viewer for a team: pages over a store on a PostgreSQL server.
#
#   docker build -t evalmark-viewer .
#   docker run --hostname evals.example -p 7878:7878 -e EVALMARK_STORE=postgresql://reader@db.example/evals \
#     -e PGPASSWORD -e EVALMARK_TOKEN evalmark-viewer
#
# The viewer answers requests for its host name and port only, so people open http://evals.example:7878, and that name leads to the
# machine that runs the container. EVALMARK_TOKEN is yours: at least 16 letters, digits and -._~. Put TLS in front of it.
FROM python:3.13-slim AS build
COPY . /source
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.13-slim
COPY --from=build /wheels /wheels
# The wheel in the folder is the version.
# hadolint ignore=DL3013
RUN wheel=$(echo /wheels/evalmark-*.whl) && python -m pip install --no-cache-dir --no-compile "${wheel}[postgres]" \
    && useradd --create-home --uid 10001 evalmark
USER 10001
WORKDIR /home/evalmark
EXPOSE 7878
HEALTHCHECK --interval=30s --timeout=3s CMD ["python", "-c", "import os, socket; socket.create_connection((os.environ['HOSTNAME'], 7878), 2)"]
CMD ["sh", "-c", "exec evalmark view --no-open --port 7878 --host \"$HOSTNAME\""]
