# A translation server in a container: docker build -t dragoman . && docker run -p 5000:5000 -v $PWD/tuned:/model:ro
#   -v $PWD/keys:/keys:ro dragoman
# The first stage builds the wheel, which needs Rust; the second has Python and the wheel alone.
FROM rust:1-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv python3-pip && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /venv && /venv/bin/pip install --no-cache-dir 'maturin>=1.9,<2'
WORKDIR /src
COPY Cargo.toml Cargo.lock pyproject.toml README.md LICENSE ./
COPY crates crates
COPY python python
RUN /venv/bin/maturin build --release --locked --out /wheels

FROM python:3.12-slim-bookworm
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[serve]" && rm -rf /wheels && useradd --system --no-create-home dragoman
USER dragoman
EXPOSE 5000
HEALTHCHECK CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:5000/ready', timeout=3)"]
ENTRYPOINT ["dragoman", "serve", "--host", "0.0.0.0"]
CMD ["--model", "/model", "--keys", "/keys"]
