// What the player uses of three.js 0.187.0 (MIT, see LICENSE-three.txt). three.min.js is made from this file by
//   npm install three@0.187.0 esbuild
//   npx esbuild three.entry.js --bundle --minify --format=iife --global-name=THREE --legal-comments=none --outfile=three.min.js
export { AmbientLight, BoxGeometry, BufferAttribute, BufferGeometry, Color, ConeGeometry, CylinderGeometry, DirectionalLight, DoubleSide, DynamicDrawUsage, EdgesGeometry, Group, InstancedMesh, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial, MeshStandardMaterial, Object3D, PerspectiveCamera, Quaternion, Scene, Shape, ExtrudeGeometry, SphereGeometry, Vector3, WebGLRenderer, REVISION } from "three";
export { OrbitControls } from "three/addons/controls/OrbitControls.js";
export { LineSegments2 } from "three/addons/lines/LineSegments2.js";
export { LineSegmentsGeometry } from "three/addons/lines/LineSegmentsGeometry.js";
export { LineMaterial } from "three/addons/lines/LineMaterial.js";
